"""Names of the databases and tables that a DDL statement affects."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from replicator.schema.ddl_ast import (
    AddIndex,
    AlterTable,
    Clause,
    CreateTable,
    Database,
    DropDatabase,
    DropTables,
    Operation,
    RenameTables,
    RenameTo,
    SetOptions,
    TableOptions,
    Truncate,
)
from replicator.schema.token_cursor import Name
from replicator.schema.tokens import NotUnderstood, tokenize

_TARGET: Final = re.compile(
    r"(?:TABLE|ON|TO)\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?"
    r"(?:(?P<q1>`(?:[^`]|``)+`|[\w$]+)\s*\.\s*)?(?P<q2>`(?:[^`]|``)+`|[\w$]+)",
    re.IGNORECASE,
)


def databases(operation: Operation) -> list[str]:
    """Of its tables; "" for the session's default."""
    match operation:
        case CreateTable(name) | Truncate(name):
            return [name[0]]
        case AlterTable(name, clauses):
            return [name[0], *(clause.name[0] or name[0] for clause in clauses if isinstance(clause, RenameTo))]
        case DropTables(names):
            return [name[0] for name in names]
        case RenameTables(pairs):
            return [name[0] for pair in pairs for name in pair]
        case Database(name) | DropDatabase(name):
            return [name]
    return []


def redefined_tables(operation: Operation) -> list[Name]:
    """The tables whose definitions it may change. CREATE TABLE IF NOT EXISTS is not among them: where the table has
    rows before, it is there and stays as it is."""
    match operation:
        case CreateTable(name):
            return [] if operation.unless_exists else [name]
        case AlterTable(name, clauses):
            if all(_keeps(clause) for clause in clauses):
                return []
            targets = [
                (clause.name[0] or name[0], clause.name[1]) for clause in clauses if isinstance(clause, RenameTo)
            ]
            return [name, *targets]
        case DropTables(names):
            return list(names)
        case RenameTables(pairs):
            return [name for pair in pairs for name in pair]
    return []


def _keeps(clause: Clause) -> bool:
    """Whether columns, keys and what is said of them stay."""
    if isinstance(clause, AddIndex):
        return clause.index.kind == "INDEX"
    return isinstance(clause, SetOptions) and clause.options == TableOptions()


def tables_of_unparsed(text: str, database: str, known: Collection[Name], *, mariadb: bool) -> list[Name]:
    """Tables of a statement that can't be understood; rather too many than too few."""
    from replicator.schema import sqlglot_fallback  # here: it imports sqlglot

    found = sqlglot_fallback.table_names(text)
    if found is not None:
        return [(name[0] or database, name[1]) for name in found]
    return guess_tables(text, database, known, mariadb=mariadb)


def guess_tables(text: str, database: str, known: Collection[Name], *, mariadb: bool) -> list[Name]:
    """Of a statement that nobody reads: what is where a table's name would, and those of `known` whose names
    stand anywhere in it. Rather too many than too few."""
    found: dict[Name, None] = {}
    for match in _TARGET.finditer(text):
        name = (_bare(match["q1"]) or database, _bare(match["q2"]))
        found[name] = None
    words = _words(text, mariadb=mariadb)
    for key in known:
        if key[1] in words and (key[0] == database or key[0] in words):
            found[key] = None
    return list(found)


def _words(text: str, *, mariadb: bool) -> set[str]:
    try:
        tokens = tokenize(text, mariadb=mariadb)
    except NotUnderstood:
        return set(re.findall(r"[\w$]+", text))
    return {token.value for token in tokens if token.kind in ("word", "name", "quoted")}


def _bare(name: str | None) -> str:
    if not name:
        return ""
    return name[1:-1].replace("``", "`") if name.startswith("`") else name
