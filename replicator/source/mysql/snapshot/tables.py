"""Tables of a server that a snapshot reads, with their sizes as the server estimates them."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from replicator.config.task import MySQLSource as Config
from replicator.errors import SourceError
from replicator.mysql import server_errors
from replicator.mysql.session import Session
from replicator.pipeline.ports import TableSize
from replicator.source.mysql.snapshot.definition import denied, quoted, split

_SYSTEM: Final = frozenset({"information_schema", "performance_schema", "mysql", "sys"})
_SIZES: Final = (
    "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_ROWS, DATA_LENGTH FROM information_schema.TABLES "
    "WHERE TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED')"
)


def selected(session: Session, config: Config) -> list[TableSize]:
    """Of the task's selection, sorted by `database.table`, byte for byte.

    Raises:
        SourceError: E2104, a table that the task names without wildcards is hidden from the account; E2223, two tables
            have the same name.
        SourceUnavailable.
    """
    choice = config.selection()
    found = {
        (str(row[0]), str(row[1])): (int(row[2] or 0), int(row[3] or 0))
        for row in session.rows(_SIZES)
        if row[0] not in _SYSTEM and choice.matches(str(row[0]), str(row[1]))
    }
    for database, name in choice.literal():
        if (database, name) not in found and choice.matches(database, name):
            _check_hidden(session, database, name)
    sizes = (TableSize(f"{database}.{name}", rows, size, database) for (database, name), (rows, size) in found.items())
    ordered = sorted(sizes, key=lambda size: size.table.encode())
    for one, other in pairwise(ordered):
        if one.table == other.table:
            raise _ambiguous(one.table, [name for name in found if ".".join(name) == one.table])
    return ordered


def _ambiguous(table: str, names: list[tuple[str, str]]) -> SourceError:
    return SourceError(
        "E2223",
        f"two tables are both named {table}",
        found=" and ".join(f"`{database}`.`{name}`" for database, name in names),
        wanted="names of databases and tables that are different when a point joins them",
        fix="Exclude the database of one of them in source.tables, or rename one.",
    )


def size(session: Session, table: str) -> TableSize:
    """0 rows where the server shows none. Raises SourceUnavailable, SourceError."""
    rows = session.rows(_SIZES + " AND TABLE_SCHEMA = %s AND TABLE_NAME = %s", split(session, table))
    return TableSize(table, int(rows[0][2] or 0), int(rows[0][3] or 0)) if rows else TableSize(table, 0, 0)


def _check_hidden(session: Session, database: str, name: str) -> None:
    """The server shows an account only the tables on which it has a privilege. A missing table is no error here."""
    table = f"{database}.{name}"
    try:
        session.rows("SELECT 1 FROM " + quoted(session, table) + " LIMIT 0")  # noqa: S608
    except ValueError:
        return
    except SourceError as error:
        if server_errors.number_of(error) in server_errors.GRANT:
            raise denied(error, session, table) from error
        if error.transient:
            raise
