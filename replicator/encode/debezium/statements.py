"""Debezium's records of DDL (schema change topic) and of TRUNCATE."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from replicator.encode.debezium.defaults import is_current
from replicator.model import types
from replicator.model.json_string import quote
from replicator.model.metadata_event import Statement, TableChange
from replicator.model.table import Column, Declared, Table

_KINDS: Final = re.compile(
    r"(?:CREATE|ALTER|DROP|RENAME)(?: OR REPLACE)?(?: TEMPORARY)? (?:TABLE|TABLES|DATABASE|SCHEMA|(?:\w+ )?INDEX)\b"
    r"|FLUSH"
)
_TABLES: Final = re.compile(r" TABLES?\b")
_LITERAL: Final = re.compile(r"[bx]'([0-9a-f]*)'|0b([01]+)", re.IGNORECASE)
"""What Debezium leaves of one. 0x.. is not among them: it might as well be a string that begins so."""
_DATABASE: Final = re.compile(
    r"\s*(?:CREATE|DROP|ALTER)\s+(?:OR\s+REPLACE\s+)?(?:DATABASE|SCHEMA)\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?"
    r"(?:`((?:[^`]|``)+)`|([^\s`;]+))",
    re.IGNORECASE,
)
_TRUNCATE: Final = re.compile(
    r"\s*TRUNCATE\s+(?:TABLE\s+)?(?:(`(?:[^`]|``)+`|\w+)\s*\.\s*)?(`(?:[^`]|``)+`|\w+)", re.IGNORECASE
)
_IF_EXISTS: Final = re.compile(r"\s*DROP\s+(?:TEMPORARY\s+)?TABLES?\s+IF\s+EXISTS\b", re.IGNORECASE)
_BARE: Final = re.compile(r"[0-9A-Za-z_$\u0080-\uffff]+")


class Part(msgspec.Struct, frozen=True):
    """A record of the schema change topic. `tables`: as `source.table` names them; None: it is about a database."""

    database: str
    tables: str | None
    ddl: str
    change: TableChange | None = None


def parts(statement: Statement) -> Iterator[Part]:
    """A statement about several tables becomes one for each; none where Debezium has nothing to say of it: TRUNCATE,
    views, triggers, accounts, ..."""
    changes = [change for change in statement.changes if change.verb != "TRUNCATE"]
    if not _KINDS.match(statement.kind) or (statement.changes and not changes):
        return
    if not changes or not _TABLES.search(statement.kind):
        about = _DATABASE.match(statement.text)
        named = changes[0].database if changes else statement.database
        name = (about[1] or "").replace("``", "`") or about[2] if about else named
        whole = about is not None and not statement.kind.startswith("ALTER")
        yield Part(name, None if whole else "", statement.text)
        return
    names = ",".join((change.new_name or (change.database, change.name))[1] for change in changes)
    for change in changes:
        database = (change.new_name or (change.database, change.name))[0]
        yield Part(database, names, _text(statement, change, alone=len(changes) == 1), change)


def truncated(statement: Statement) -> list[tuple[str, str]]:
    """The tables that it empties, as (database, table); read from its text where there is no schema history."""
    if statement.changes:
        return [(change.database, change.name) for change in statement.changes if change.verb == "TRUNCATE"]
    match = _TRUNCATE.match(statement.text) if statement.kind.startswith("TRUNCATE") else None
    return [(_bare(match[1] or statement.database), _bare(match[2]))] if match else []


def _bare(name: str) -> str:
    return name[1:-1].replace("``", "`") if name[:1] == "`" else name


def _text(statement: Statement, change: TableChange, *, alone: bool) -> str:
    if change.verb == "DROP":
        guard = "IF EXISTS " if _IF_EXISTS.match(statement.text) else ""
        return f"DROP TABLE {guard}{quoted(change.database)}.{quoted(change.name)}"
    if change.verb == "RENAME" and change.new_name is not None and statement.kind.startswith("RENAME"):
        old = _name(change.database, change.name, statement.database)
        return f"RENAME TABLE {old} TO {_name(*change.new_name, statement.database)}"
    return statement.text


def _name(database: str, table: str, current: str) -> str:
    words = [table] if database == current else [database, table]
    return ".".join(word if _BARE.fullmatch(word) and not word.isdigit() else quoted(word) for word in words)


def quoted(name: str) -> str:
    """An identifier in backticks."""
    return "`" + name.replace("`", "``") + "`"


def table_changes(change: TableChange | None, *, comments: bool) -> str:
    """JSON of the member `tableChanges`."""
    if change is None or (change.table is None and change.verb != "DROP"):
        return "[]"
    database, name = change.new_name or (change.database, change.name)
    verb = "ALTER" if change.verb == "RENAME" else change.verb
    head = f'[{{"type":"{verb}","id":{quote(f"{_inner(database)}.{_inner(name)}")},"table":'
    table = "null" if change.verb == "DROP" or change.table is None else _table(change.table, comments=comments)
    return f"{head}{table}}}]"


def _inner(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _table(table: Table, *, comments: bool) -> str:
    key = ",".join(quote(table.columns[index].name) for index in table.primary_key or table.unique_key)
    columns = ",".join(_column(column, comments=comments) for column in table.columns)
    comment = quote(table.comment) if comments and table.comment else "null"
    charset = quote(table.charset) if table.charset else "null"
    return (
        f'{{"defaultCharsetName":{charset},"primaryKeyColumnNames":[{key}],"columns":[{columns}],"comment":{comment}}}'
    )


def _column(column: Column, *, comments: bool) -> str:
    declared = column.declared or Declared(types.NAMES.get(column.type, ""))
    name = declared.type
    name += " UNSIGNED" if declared.unsigned or declared.zerofill else ""
    name += " ZEROFILL" if declared.zerofill else ""
    length, scale = _size(declared)
    own = "true" if declared.auto_increment or declared.on_update else "false"
    comment = quote(declared.comment) if comments and declared.comment else "null"
    members = [quote(_literal(member)) for member in declared.arguments] if declared.type in ("ENUM", "SET") else None
    return (
        f'{{"name":{quote(column.name)},"jdbcType":{_JDBC.get(declared.type, 1111)},"nativeType":null,'
        f'"typeName":{quote(name)},"typeExpression":{quote(name)},"charsetName":{_charset(declared)},'
        f'"length":{_or_null(length)},"scale":{_or_null(scale)},"position":{column.index + 1},'
        f'"optional":{"true" if column.nullable else "false"},"autoIncremented":{own},"generated":{own},'
        f'"comment":{comment},"defaultValueExpression":{_default(column)},'
        f'"enumValues":{"null" if members is None else "[" + ",".join(members) + "]"}}}'
    )


def _or_null(value: int | None) -> str:
    return "null" if value is None else str(value)


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _size(declared: Declared) -> tuple[int | None, int | None]:
    """Length and scale as Debezium's parser has them."""
    arguments = declared.arguments
    if declared.type == "ENUM":
        return 1, None
    if declared.type == "SET":
        return 2 * len(arguments) - 1, None
    if declared.type in ("DECIMAL", "DEC", "NUMERIC", "FIXED"):
        return int(arguments[0]) if arguments else 10, int(arguments[1]) if len(arguments) > 1 else 0
    if not arguments:
        return (1, None) if declared.type in ("BIT", "CHAR", "NCHAR") else (None, None)
    return int(arguments[0]), int(arguments[1]) if len(arguments) > 1 else None


def _charset(declared: Declared) -> str:
    if declared.type in ("NCHAR", "NVARCHAR", "NATIONAL CHAR", "NATIONAL VARCHAR"):
        return '"utf8"'
    return quote(declared.charset) if declared.charset and _JDBC.get(declared.type) in _TEXTS else "null"


def _default(column: Column) -> str:
    declared = column.declared
    if declared is None or not declared.has_default or declared.default is None:
        return "null"
    if is_current(column):
        return '"1970-01-01 00:00:00"'
    if declared.default_is_expression:
        return "null"
    literal = _LITERAL.fullmatch(declared.default)
    return quote((literal[1] or literal[2] or "") if literal else declared.default.replace("'", "''"))


_TEXTS: Final = frozenset({1, 12, -15, -9})
_JDBC: Final[dict[str, int]] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INT1", "INT2"), 5),
    **dict.fromkeys(("MEDIUMINT", "INT", "INTEGER", "YEAR", "INT3", "INT4", "MIDDLEINT"), 4),
    **dict.fromkeys(("BIGINT", "INT8", "SERIAL"), -5),
    **dict.fromkeys(("BOOL", "BOOLEAN"), 16),
    "BIT": -7,
    **dict.fromkeys(("DECIMAL", "DEC", "FIXED"), 3),
    "NUMERIC": 2,
    **dict.fromkeys(("FLOAT", "FLOAT4"), 6),
    **dict.fromkeys(("DOUBLE", "DOUBLE PRECISION", "FLOAT8"), 8),
    "REAL": 7,
    **dict.fromkeys(("CHAR", "CHARACTER", "ENUM", "SET"), 1),
    **dict.fromkeys(("VARCHAR", "CHARACTER VARYING", "TINYTEXT", "TEXT", "MEDIUMTEXT", "LONGTEXT", "LONG"), 12),
    **dict.fromkeys(("NCHAR", "NATIONAL CHAR"), -15),
    **dict.fromkeys(("NVARCHAR", "NATIONAL VARCHAR"), -9),
    "BINARY": -2,
    "VARBINARY": -3,
    **dict.fromkeys(("TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB"), 2004),
    "DATE": 91,
    "TIME": 92,
    "DATETIME": 93,
    "TIMESTAMP": 2014,
}
"""`java.sql.Types` by the declared type; 1111 (OTHER) for all others."""
