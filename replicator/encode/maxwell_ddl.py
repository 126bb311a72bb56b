"""Maxwell's records of DDL."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final
from zlib import crc32

from replicator.config.maxwell import MaxwellOptions
from replicator.config.task import Records
from replicator.encode.silent import Silent
from replicator.encode.topics import Topics
from replicator.model.json_string import quote
from replicator.model.metadata_event import Message, Moment, Statement, TableChange
from replicator.model.table import Column, Declared, Table
from replicator.model.uuids import row_uuid
from replicator.pipeline.ports import Interest

_DATABASES: Final = {"CREATE": "database-create", "ALTER": "database-alter", "DROP": "database-drop"}
_TABLES: Final = frozenset(
    {"CREATE TABLE", "ALTER TABLE", "DROP TABLE", "DROP TABLES", "RENAME TABLE", "RENAME TABLES"}
)
_GAP: Final = r"(?:\s|/\*(?!M?!)(?:[^*]|\*(?!/))*+\*/|/\*M?!\d*+|\*/|--\s[^\n]*+\n|\#[^\n]*+\n)"
"""White space and comments; of those that are executed, the marks. Nothing matches in two ways: no text is slow."""
_DATABASE: Final = re.compile(
    rf"{_GAP}*+(?:CREATE|ALTER|DROP){_GAP}++(?:OR{_GAP}++REPLACE{_GAP}++)?(?:DATABASE|SCHEMA){_GAP}++"
    rf"(?:IF{_GAP}++(?:NOT{_GAP}++)?EXISTS{_GAP}++)?"
    r"(?!(?:DEFAULT|CHARACTER|CHARSET|COLLATE|ENCRYPTION|READ)\b)(?:`((?:[^`]|``)++)`|([\w$]++))",
    re.IGNORECASE,
)


class Statements(Silent):
    """The part of the format that hears of statements. How many messages one makes depends on nothing but the
    statement, as a stream that is resumed counts them."""

    def __init__(self, name: str, sink: Records, server: str) -> None:
        self._options: MaxwellOptions = sink.maxwell
        self._task = name
        self._template = self._options.ddl_kafka_topic or sink.topic_template
        self.interests: frozenset[Interest] = frozenset({"statement"} if self._options.output_ddl else ())

    def statement(self, statement: Statement, moment: Moment) -> Sequence[Message]:
        position = (moment.gtid or f"{moment.file}:{moment.offset}").encode()
        tail = self._tail(statement, moment)
        return [
            Message(
                self._topic(database, table),
                row_uuid(b"%b ddl" % position, number).encode(),
                f"{{{body}{tail}{self._schema_id(definition)}}}".encode(),
                route=(table if table and self._options.producer_partition_by == "table" else database).encode(),
            )
            for number, (database, table, body, definition) in enumerate(_bodies(statement))
        ]

    def _topic(self, database: str, table: str) -> str:
        """Statements of databases go to the task's topic where topics are by table."""
        if not table and ("{table}" in self._template or "{database}" in self._template):
            return self._task
        return Topics(self._template, self._task).topic(Table(database, table, ()))

    def _tail(self, statement: Statement, moment: Moment) -> str:
        text = f',"ts":{moment.event_s * 1000},"sql":{quote(statement.text)}'
        if self._options.output_binlog_position:
            text += f',"position":{quote(f"{moment.file}:{moment.offset}")}'
        if self._options.output_gtid_position:
            text += f',"gtid":{quote(moment.gtid) if moment.gtid else "null"}'
        return text

    def _schema_id(self, table: Table | None) -> str:
        if not self._options.output_schema_id:
            return ""
        return f',"schema_id":{schema_id(table) if table is not None else 0}'


def schema_id(table: Table) -> int:
    """Of the names and types of a table's columns: the same for as long as they are."""
    columns = ",".join(f"{column.name}:{column.type}" for column in table.columns)
    return crc32(f"{table.database}.{table.name}({columns})".encode())


def _bodies(statement: Statement) -> Iterator[tuple[str, str, str, Table | None]]:
    """(database, table, first members, table after it) of each record."""
    verb, _, what = statement.kind.partition(" ")
    if what in ("DATABASE", "SCHEMA") and verb in _DATABASES:
        name = _database(statement)
        charset = f',"charset":{quote(statement.charset)}' if statement.charset and verb != "DROP" else ""
        yield name, "", f'"type":"{_DATABASES[verb]}","database":{quote(name)}{charset}', None
    elif statement.kind in _TABLES:
        for change in statement.changes:
            if change.verb != "TRUNCATE":
                yield change.database, change.name, _table_body(change), change.table


def _database(statement: Statement) -> str:
    named = _DATABASE.match(statement.text)
    if named is None:
        return statement.database
    return named[1].replace("``", "`") if named[1] else named[2]


def _table_body(change: TableChange) -> str:
    kind = {"CREATE": "table-create", "DROP": "table-drop"}.get(change.verb, "table-alter")
    body = f'"type":"{kind}","database":{quote(change.database)},"table":{quote(change.name)}'
    if kind == "table-alter":
        body += f',"old":{_definition(change.before)}'
    if kind != "table-drop":
        body += f',"def":{_definition(change.table)}'
    return body


def _definition(table: Table | None) -> str:
    if table is None:
        return "null"
    charset = quote(table.charset) if table.charset else "null"
    columns = ",".join(_column(column, column.declared) for column in table.columns if column.declared)
    keys = ",".join(quote(table.columns[index].name) for index in table.primary_key)
    return (
        f'{{"database":{quote(table.database)},"charset":{charset},"table":{quote(table.name)},'
        f'"columns":[{columns}],"primary-key":[{keys}]}}'
    )


def _column(column: Column, declared: Declared) -> str:
    kind = type_name(declared)
    text = f'{{"type":"{kind}","name":{quote(column.name)}'
    if kind in _INTEGERS:
        text += f',"signed":{"false" if _unsigned(declared) else "true"}'
    elif kind in ("enum", "set"):
        text += f',"enum-values":[{",".join(map(quote, declared.arguments))}]'
    elif kind in ("time", "datetime", "timestamp"):
        text += f',"column-length":{declared.arguments[0] if declared.arguments else 0}'
    elif kind.endswith(("text", "char", "blob", "binary")):
        text += f',"charset":{quote(_charset(kind, declared))}'
    return text + "}"


def _unsigned(declared: Declared) -> bool:
    return declared.unsigned or declared.zerofill or declared.type == "SERIAL"


def _charset(kind: str, declared: Declared) -> str:
    if kind.endswith(("blob", "binary")):
        return "binary"
    if declared.type.startswith(("NATIONAL", "NCHAR", "NVARCHAR")):
        return "utf8"
    return declared.charset or ""


_INTEGERS: Final = frozenset({"tinyint", "smallint", "mediumint", "int", "bigint"})
_ALIASES: Final = {
    "BOOL": "tinyint",
    "BOOLEAN": "tinyint",
    "INT1": "tinyint",
    "INT2": "smallint",
    "INT3": "mediumint",
    "MIDDLEINT": "mediumint",
    "INT4": "int",
    "INTEGER": "int",
    "INT8": "bigint",
    "SERIAL": "bigint",
    "FLOAT4": "float",
    "FLOAT8": "double",
    "REAL": "double",
    "DOUBLE PRECISION": "double",
    "DEC": "decimal",
    "FIXED": "decimal",
    "NUMERIC": "decimal",
    "LONG": "mediumtext",
    "LONG VARCHAR": "mediumtext",
    "LONG VARBINARY": "mediumblob",
    "GEOMCOLLECTION": "geometrycollection",
}


def type_name(declared: Declared) -> str:
    """The type's one name in lower case: `bigint` for INT8."""
    spelled = declared.type
    if spelled in _ALIASES:
        return _ALIASES[spelled]
    if "CHAR" in spelled:
        varying = "VAR" in spelled
        return ("varbinary" if varying else "binary") if "BYTE" in spelled else ("varchar" if varying else "char")
    if spelled in ("TEXT", "BLOB") and declared.arguments:
        length = int(declared.arguments[0])
        size = next((name for name, limit in _SIZES if length < limit), "long")
        return f"{size}{spelled.lower()}"
    return spelled.lower()


_SIZES: Final = (("tiny", 1 << 8), ("", 1 << 16), ("medium", 1 << 24))
