"""Definition of a table at the target, as far as images of its rows depend on it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from replicator.errors import SinkError, SourceError
from replicator.mysql import table_shape
from replicator.mysql.server import Server
from replicator.mysql.session import Session
from replicator.mysql.table_shape import TableShape

_COLUMNS: Final = (
    "SELECT COLUMN_NAME, IS_NULLABLE, COLUMN_DEFAULT, UPPER(EXTRA) FROM information_schema.COLUMNS "
    "WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s"
)
_GENERATED: Final = (
    "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s "
    "AND GENERATION_EXPRESSION NOT IN ('', 'ROW START', 'ROW END')"
)
"""Those of system versioning are written like any other column."""
_INDEXED: Final = (
    "SELECT INDEX_NAME, COLUMN_NAME FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s"
)
_TABLE: Final = "SELECT TABLE_TYPE, ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s"
_LITERAL: Final = re.compile(r"'(?:[^']|'')*'|[bx]'[0-9a-f]*'|-?[0-9.]+(?:e[-+]?[0-9]+)?|null", re.IGNORECASE)
_TRANSACTIONAL: Final = frozenset({"innodb", "rocksdb", "ndbcluster", "tokudb"})


_COMPUTES: Final = (11, 8, 9)
"""From this release on MariaDB computes the generated columns of rows that lack them. Measured before: stored columns
and keys on virtual ones are wrong."""


class Definition(msgspec.Struct, frozen=True):
    """
    Attributes:
        shape: its columns.
        unfilled: columns that get a value that is not declared where images lack them -> why.
        automatic: the AUTO_INCREMENT column.
        generated: its generated columns, in lower case.
        stamped: columns that an UPDATE changes by itself (ON UPDATE CURRENT_TIMESTAMP).
        versioned: it has system versioning.
    """

    shape: TableShape
    unfilled: Mapping[str, str]
    automatic: str | None = None
    generated: frozenset[str] = frozenset()
    stamped: tuple[str, ...] = ()
    versioned: bool = False


def read(session: Session, server: Server, database: str, name: str, source: str) -> Definition:
    """
    Args:
        source: `database.table` at the source, for errors.

    Raises:
        SinkError: E3421, there is no such table, or the account may not see it; E3422, rows can't be written to it.
        SinkUnavailable: not reachable.
    """
    found = session.rows(_TABLE, (database, name))
    if not found:
        raise missing(f"{database}.{name}", source, session.where)
    kind, engine = str(found[0][0]), str(found[0][1] or "")
    if kind not in ("BASE TABLE", "SYSTEM VERSIONED") or engine.lower() not in _TRANSACTIONAL:
        raise SinkError(
            "E3422",
            f"{database}.{name} at the target can't be written in transactions",
            found=f"{kind}, engine {engine or 'none'}",
            wanted="a table with ENGINE=InnoDB: the position is in the same transaction as the rows",
            fix=f"ALTER TABLE {database}.{name} ENGINE=InnoDB;",
            table=source,
        )
    try:
        shape = table_shape.read(session, server, database, name)
    except SourceError as error:
        raise SinkError("E3422", error.what, found=error.found, wanted="a known type", table=source) from error
    rows = session.rows(_COLUMNS, (database, name))
    automatic = next((str(column) for column, _, _, extra in rows if "AUTO_INCREMENT" in extra), None)
    unfilled = _unfilled(rows, mariadb=server.mariadb)
    some = any(_is_generated(extra) for _, _, _, extra in rows)
    generated = read_generated(session, database, name) if some else frozenset[str]()
    if some and server.mariadb and server.version < _COMPUTES:
        indexed = [(str(key), str(column)) for key, column in session.rows(_INDEXED, (database, name))]
        unfilled |= _not_computed(rows, indexed)
    stamped = tuple(str(column) for column, _, _, extra in rows if "ON UPDATE" in extra)
    return Definition(shape, unfilled, automatic, generated, stamped, versioned=kind == "SYSTEM VERSIONED")


def read_generated(session: Session, database: str, name: str) -> frozenset[str]:
    """Columns of a table that have an expression, in lower case. From MySQL 5.7 and MariaDB 10.2 on."""
    return frozenset(str(column).lower() for (column,) in session.rows(_GENERATED, (database, name)))


def missing(table: str, source: str, where: str) -> SinkError:
    of = f", to which rows of {source} are written," if source and source != table else ""
    return SinkError(
        "E3421",
        f"table {table}{of} does not exist at the target",
        found=f"no such table at {where}, or no privilege on it",
        wanted="a table with the columns of the source",
        table=source or table,
    )


def _is_generated(extra: str) -> bool:
    return "GENERATED" in extra.replace("DEFAULT_GENERATED", "")


def _not_computed(rows: Sequence[tuple[Any, ...]], indexed: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Of a MariaDB server that computes generated columns where they are read, and only then."""
    keyed = any(key == "PRIMARY" for key, _ in indexed)
    found = {}
    for column, _, _, extra in rows:
        if not _is_generated(extra):
            continue
        if "VIRTUAL" not in extra:
            found[str(column)] = "generated and stored"
        elif any(name == column for _, name in indexed):
            found[str(column)] = "generated, with an index"
        elif not keyed:
            found[str(column)] = "generated, in a table without a primary key"
    return {
        column: f"{why}: MariaDB before 11.8.9 does not compute it for rows that lack it"
        for column, why in found.items()
    }


def _unfilled(rows: Sequence[tuple[Any, ...]], *, mariadb: bool) -> dict[str, str]:
    """Measured: MySQL fills columns that images lack as INSERT does. MariaDB does not compute functions. Without a
    default both write an implicit one, as '' or 0."""
    found = {}
    for column, nullable, default, extra in rows:
        if _is_generated(extra) or "AUTO_INCREMENT" in extra:
            continue
        if default is None and nullable == "NO":
            found[str(column)] = "NOT NULL without a default"
        elif mariadb and default is not None and not _LITERAL.fullmatch(str(default)):
            found[str(column)] = f"DEFAULT {default}: MariaDB does not compute it for rows that lack it"
    return found
