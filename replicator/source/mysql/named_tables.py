"""Checks at the start of a task that tables named without wildcards exist: a misspelt name would silently replicate
nothing. Later they may be dropped and created."""

from __future__ import annotations

from replicator.config.tables import TableFilter
from replicator.config.task import MySQLSource
from replicator.errors import SourceError
from replicator.mysql.identifiers import quote_identifier
from replicator.mysql.session import Session

_NOT_THERE = frozenset({1049, 1051, 1109, 1146})


def check_tables_exist(session: Session, config: MySQLSource) -> None:
    """Raises SourceError E2205. A table that the account may not see counts as there: streaming needs no SELECT."""
    choice = TableFilter(config.tables)
    missing = [
        f"{database}.{table}"
        for database, table in choice.literal()
        if choice.matches(database, table) and not _exists(session, database, table)
    ]
    if missing:
        raise SourceError(
            "E2205",
            f"the server does not have these tables: {', '.join(missing)}",
            found="no such table",
            wanted="every table that is given without * or ?",
            fix="Create them, or correct `source.tables`.",
        )


def _exists(session: Session, database: str, table: str) -> bool:
    try:
        name = f"{quote_identifier(database)}.{quote_identifier(table)}"
    except ValueError:
        return False
    return session.refusal(f"SELECT 1 FROM {name} LIMIT 0") not in _NOT_THERE  # noqa: S608
