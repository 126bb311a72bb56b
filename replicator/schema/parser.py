"""Parser of DDL statements. See DESIGN.md for the part that sqlglot has in it."""

from __future__ import annotations

from typing import Final

import msgspec

from replicator.schema.alter_table import alter_table, merged
from replicator.schema.column_parser import charset_word
from replicator.schema.create_table import create_table, key_parts
from replicator.schema.ddl_ast import (
    AddIndex,
    AlterTable,
    Charset,
    Database,
    DropDatabase,
    DropIndex,
    DropTables,
    IndexSpec,
    Operation,
    Parsed,
    RenameTables,
    Truncate,
)
from replicator.schema.token_cursor import Cursor, Name
from replicator.schema.tokens import NotUnderstood, tokenize

_OBJECTS: Final = frozenset(
    (
        *("TABLE", "TABLES", "DATABASE", "SCHEMA", "INDEX", "VIEW", "TRIGGER", "PROCEDURE", "FUNCTION", "EVENT"),
        *("USER", "ROLE", "SEQUENCE", "SERVER", "TABLESPACE", "LOGFILE", "PACKAGE", "UNDO", "SPATIAL", "RESOURCE"),
        *("LIBRARY", "INSTANCE"),
    )
)
_LOOK_AHEAD: Final = 24
"""Tokens between CREATE and what is created: a DEFINER, an ALGORITHM, SQL SECURITY."""
_SYNONYMS: Final = {"SCHEMA": "DATABASE", "TABLES": "TABLE"}


def parse(text: str, *, mariadb: bool) -> Parsed:
    """Raises NotUnderstood for a statement about tables or databases that we can't read."""
    cursor = Cursor(text, tokenize(text, mariadb=mariadb))
    _set_statement(cursor)
    found = _kind(cursor)
    operation = _operation(cursor, found)
    if operation is not None and not cursor.ended:
        raise cursor.wrong("the end")
    return Parsed(found, operation)


def kind(text: str) -> str:
    """What a statement is called that can't be parsed."""
    try:
        return _kind(Cursor(text, tokenize(text, mariadb=True)))
    except NotUnderstood:
        return " ".join(text.split(None, 2)[:2]).upper()


def _set_statement(cursor: Cursor) -> None:
    """MariaDB: SET STATEMENT variable=value, ... FOR statement."""
    if cursor.accept("SET", "STATEMENT"):
        while not cursor.accept("FOR"):
            cursor.take()


def _kind(cursor: Cursor) -> str:
    verb = cursor.word()
    if verb not in ("CREATE", "ALTER", "DROP", "RENAME"):
        return f"{verb} TABLE" if verb == "TRUNCATE" else verb
    for ahead in range(1, _LOOK_AHEAD):
        word = cursor.word(ahead)
        if word in _OBJECTS and not (word == "SPATIAL" and cursor.word(ahead + 1) in ("INDEX", "KEY")):
            temporary = "TEMPORARY " if any(cursor.word(at) == "TEMPORARY" for at in range(1, ahead)) else ""
            return f"{verb} {temporary}{_SYNONYMS.get(word, word)}"
    return verb


def _operation(cursor: Cursor, kind: str) -> Operation | None:
    match kind:
        case "CREATE TABLE":
            _to_object(cursor, "TABLE")
            return create_table(cursor)
        case "ALTER TABLE":
            _to_object(cursor, "TABLE")
            return _merged(alter_table(cursor))
        case "DROP TABLE":
            _to_object(cursor, "TABLE", "TABLES")
            return _drop(cursor)
        case "RENAME TABLE":
            _to_object(cursor, "TABLE", "TABLES")
            return _rename(cursor)
        case "TRUNCATE TABLE":
            return _truncate(cursor)
        case "CREATE DATABASE" | "ALTER DATABASE":
            return _database(cursor, created=kind.startswith("CREATE"))
        case "DROP DATABASE":
            _to_object(cursor, "DATABASE", "SCHEMA")
            cursor.accept("IF", "EXISTS")
            return DropDatabase(cursor.name())
        case "CREATE INDEX" | "DROP INDEX":
            return _index(cursor, created=kind.startswith("CREATE"))
    return None


def _to_object(cursor: Cursor, *words: str) -> None:
    while cursor.word() not in words:
        cursor.take()
    cursor.take()


def _merged(operation: AlterTable) -> AlterTable:
    return msgspec.structs.replace(operation, clauses=merged(operation.clauses))


def _drop(cursor: Cursor) -> DropTables:
    cursor.accept("IF", "EXISTS")
    names: list[Name] = []
    cursor.listed(lambda: names.append(cursor.qualified()))
    _wait(cursor)
    cursor.accept_any(("RESTRICT", "CASCADE"))
    return DropTables(tuple(names))


def _wait(cursor: Cursor) -> None:
    """MariaDB's WAIT n and NOWAIT."""
    if cursor.accept("WAIT"):
        cursor.take()
    else:
        cursor.accept("NOWAIT")


def _rename(cursor: Cursor) -> RenameTables:
    cursor.accept("IF", "EXISTS")
    pairs: list[tuple[Name, Name]] = []

    def pair() -> None:
        old = cursor.qualified()
        _wait(cursor)
        cursor.expect("TO")
        pairs.append((old, cursor.qualified()))

    cursor.listed(pair)
    return RenameTables(tuple(pairs))


def _truncate(cursor: Cursor) -> Truncate:
    cursor.expect("TRUNCATE")
    cursor.accept("TABLE")
    name = cursor.qualified()
    _wait(cursor)
    return Truncate(name)


def _database(cursor: Cursor, *, created: bool) -> Database:
    _to_object(cursor, "DATABASE", "SCHEMA")
    unless_exists = cursor.accept("IF", "NOT", "EXISTS")
    name, charset, collation = "", None, None
    if not (cursor.word() in ("CHARACTER", "CHARSET", "COLLATE", "DEFAULT", "READ") and cursor.word(1)):
        name = cursor.name()
    while not cursor.ended:
        cursor.accept("DEFAULT")
        if cursor.accept("CHARACTER", "SET") or cursor.accept("CHAR", "SET") or cursor.accept("CHARSET"):
            charset = charset_word(cursor) or None
        elif cursor.accept("COLLATE"):
            collation = charset_word(cursor) or None
        elif cursor.accept("COMMENT"):
            cursor.accept_mark("=")
            cursor.string()
        elif cursor.accept("ENCRYPTION") or cursor.accept("READ", "ONLY"):
            cursor.accept_mark("=")
            cursor.take()
        else:
            raise cursor.wrong("an option of a database")
    return Database(name, Charset(charset, collation), created, unless_exists)


def _index(cursor: Cursor, *, created: bool) -> AlterTable:
    """CREATE INDEX and DROP INDEX are clauses of ALTER TABLE."""
    unique = False
    while cursor.word() not in ("INDEX", "KEY"):
        unique = cursor.take().value.upper() == "UNIQUE" or unique
    cursor.take()
    unless = cursor.accept("IF", "NOT", "EXISTS")
    if_exists = cursor.accept("IF", "EXISTS")
    name = cursor.name()
    while not cursor.accept("ON"):
        cursor.take()  # USING BTREE
    table = cursor.qualified()
    if not created:
        _rest(cursor)
        return AlterTable(table, (DropIndex(name, if_exists),))
    _wait(cursor)
    columns, whole = key_parts(cursor)
    _rest(cursor)
    return AlterTable(table, (AddIndex(IndexSpec("UNIQUE" if unique else "INDEX", columns, name, whole, unless)),))


def _rest(cursor: Cursor) -> None:
    while not cursor.ended:
        cursor.skip()
