"""Parser of ALTER TABLE."""

from __future__ import annotations

from typing import Final

import msgspec

from replicator.schema.column_parser import charset_word, column, default, definition
from replicator.schema.create_table import Options, TableBody
from replicator.schema.ddl_ast import (
    AddColumn,
    AddIndex,
    AlterColumn,
    AlterTable,
    Charset,
    Clause,
    Convert,
    DropColumn,
    DropIndex,
    RenameColumn,
    RenameIndex,
    RenameTo,
    SetOptions,
    Versioning,
)
from replicator.schema.token_cursor import Cursor

_OF_PARTITIONS: Final = frozenset(
    {"TRUNCATE", "COALESCE", "REORGANIZE", "EXCHANGE", "ANALYZE", "OPTIMIZE", "REBUILD", "REPAIR", "DISCARD", "IMPORT"}
)
_BARE: Final = frozenset({"FORCE", "SECONDARY_LOAD", "SECONDARY_UNLOAD", "NOWAIT"})
_PAIRS: Final = (("ENABLE", "KEYS"), ("DISABLE", "KEYS"), ("WITH", "VALIDATION"), ("WITHOUT", "VALIDATION"))


def alter_table(cursor: Cursor) -> AlterTable:
    """Behind ALTER TABLE."""
    cursor.accept("IF", "EXISTS")
    name = cursor.qualified()
    if cursor.accept("WAIT"):
        cursor.take()
    clauses: list[Clause] = []
    while not cursor.ended:
        clauses.extend(_clause(cursor))
        cursor.accept_mark(",")
    return AlterTable(name, tuple(clauses))


def _clause(cursor: Cursor) -> list[Clause]:
    if cursor.accept("ADD"):
        return _add(cursor)
    if cursor.accept("DROP"):
        return _drop(cursor)
    if cursor.accept("MODIFY"):
        return [_modify(cursor)]
    if cursor.accept("CHANGE"):
        return [_change(cursor)]
    if cursor.accept("ALTER"):
        return _alter(cursor)
    if cursor.accept("RENAME"):
        return [_rename(cursor)]
    if cursor.accept("CONVERT", "TO"):
        return [_convert(cursor)]
    return _other(cursor)


def _add(cursor: Cursor) -> list[Clause]:
    if cursor.accept("PARTITION"):
        return _to_the_end(cursor)
    if cursor.accept("SYSTEM", "VERSIONING"):
        return [Versioning(True)]
    if cursor.accept("PERIOD", "FOR"):
        cursor.skip_element()
        return []
    body = TableBody()
    if not cursor.accept("COLUMN") and body.constraint(cursor):
        return [AddIndex(index) for index in body.indexes]
    unless_exists = cursor.accept("IF", "NOT", "EXISTS")
    if cursor.accept_mark("("):
        cursor.listed(lambda: body.element(cursor))
        cursor.expect_mark(")")
        added: list[Clause] = [AddColumn(column, unless_exists=unless_exists) for column in body.columns]
        return added + [AddIndex(index) for index in body.indexes]
    draft = column(cursor)
    return [AddColumn(draft, place=_place(cursor), unless_exists=unless_exists)]


def _place(cursor: Cursor) -> str | None:
    if cursor.accept("FIRST"):
        return None
    return cursor.name() if cursor.accept("AFTER") else ""


def _modify(cursor: Cursor) -> Clause:
    cursor.accept("COLUMN")
    if_exists = cursor.accept("IF", "EXISTS")
    draft = column(cursor)
    return AddColumn(draft, draft.name, _place(cursor), if_exists=if_exists)


def _change(cursor: Cursor) -> Clause:
    cursor.accept("COLUMN")
    if_exists = cursor.accept("IF", "EXISTS")
    old = cursor.name()
    draft = definition(cursor, cursor.name())
    return AddColumn(draft, old, _place(cursor), if_exists=if_exists)


def _drop(cursor: Cursor) -> list[Clause]:
    if cursor.accept("PRIMARY", "KEY"):
        return [DropIndex("PRIMARY")]
    if cursor.accept("PARTITION"):
        return _to_the_end(cursor)
    if cursor.accept("SYSTEM", "VERSIONING"):
        return [Versioning(False)]
    if cursor.accept("PERIOD", "FOR"):
        cursor.skip_element()
        return []
    if cursor.accept("FOREIGN", "KEY") or cursor.accept("CHECK"):
        cursor.accept("IF", "EXISTS")
        cursor.name()
        return []
    of_index = cursor.accept("INDEX") or cursor.accept("KEY")
    constraint = not of_index and cursor.accept("CONSTRAINT")
    if not (of_index or constraint):
        cursor.accept("COLUMN")
    if_exists = cursor.accept("IF", "EXISTS")
    name = cursor.name()
    if of_index or constraint:
        return [DropIndex(name, if_exists, constraint)]
    cursor.accept_any(("RESTRICT", "CASCADE"))
    return [DropColumn(name, if_exists)]


def _alter(cursor: Cursor) -> list[Clause]:
    if cursor.accept_any(("INDEX", "KEY", "CHECK", "CONSTRAINT")):
        cursor.skip_element()
        return []
    cursor.accept("COLUMN")
    cursor.accept("IF", "EXISTS")
    name = cursor.name()
    if cursor.accept("DROP", "DEFAULT"):
        return [AlterColumn(name, dropped=True)]
    cursor.expect("SET")
    if word := cursor.accept_any(("VISIBLE", "INVISIBLE")):
        return [AlterColumn(name, visible=word == "VISIBLE")]
    cursor.expect("DEFAULT")
    return [AlterColumn(name, default=default(cursor))]


def _rename(cursor: Cursor) -> Clause:
    if cursor.word() in ("COLUMN", "INDEX", "KEY") and not (cursor.word(1) == "" and cursor.is_mark(",", 1)):
        kind = cursor.take().value.upper()
        if_exists = cursor.accept("IF", "EXISTS")
        old = cursor.name()
        cursor.expect("TO")
        new = cursor.name()
        return RenameColumn(old, new, if_exists) if kind == "COLUMN" else RenameIndex(old, new)
    if not cursor.accept_any(("TO", "AS")):
        cursor.accept_mark("=")
    return RenameTo(cursor.qualified())


def _convert(cursor: Cursor) -> Clause:
    if not (cursor.accept("CHARACTER", "SET") or cursor.accept("CHARSET")):
        cursor.expect("CHAR", "SET")
    charset = charset_word(cursor) or None
    collation = charset_word(cursor) or None if cursor.accept("COLLATE") else None
    return Convert(Charset(charset, collation))


def _to_the_end(cursor: Cursor) -> list[Clause]:
    while not cursor.ended:
        cursor.skip()
    return []


def _other(cursor: Cursor) -> list[Clause]:
    """What changes no definition, and options."""
    if cursor.word() in _OF_PARTITIONS or cursor.sees("CHECK", "PARTITION") or cursor.accept("REMOVE", "PARTITIONING"):
        return _to_the_end(cursor)
    if cursor.accept_any(_BARE) or any(cursor.accept(*pair) for pair in _PAIRS):
        return []
    if cursor.accept("ORDER", "BY"):
        cursor.listed(lambda: _ordered(cursor))
        return []
    options = Options()
    if not options.read(cursor):
        raise cursor.wrong("a clause of ALTER TABLE")
    return [SetOptions(options.value())] if options.said else []


def _ordered(cursor: Cursor) -> None:
    cursor.qualified()
    cursor.accept_any(("ASC", "DESC"))


def merged(clauses: tuple[Clause, ...]) -> tuple[Clause, ...]:
    """CHARACTER SET and COLLATE stand in two options, and mean one thing."""
    options = [clause.options for clause in clauses if isinstance(clause, SetOptions)]
    if len(options) < 2:
        return clauses
    joined = options[0]
    for option in options[1:]:
        text = Charset(option.charset.charset or joined.charset.charset, option.charset.collation or None)
        if not text.collation and not option.charset.charset:
            text = joined.charset
        comment = joined.comment if option.comment is None else option.comment
        joined = msgspec.structs.replace(joined, charset=text, comment=comment)
    rest: tuple[Clause, ...] = tuple(clause for clause in clauses if not isinstance(clause, SetOptions))
    return (*rest, SetOptions(joined))
