"""Refuses tables whose rows foreign keys change without a trace in the binlog."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from replicator.errors import SourceError
from replicator.mysql.server import Server
from replicator.mysql.session import Session
from replicator.source.mysql.snapshot.definition import split, text_of

_ACTING: Final = re.compile(r"FOREIGN KEY .*ON (?:DELETE|UPDATE) (?:CASCADE|SET NULL|SET DEFAULT)")
_LOGGED: Final = "OFF"
"""Of innodb_native_foreign_keys: MySQL 9.6 and later log these rows."""


def check(session: Session, server: Server, table: str, text: str) -> None:
    """`text`: SHOW CREATE TABLE of it.

    A chunk that was read before such a change would bring a row back that is gone by then. Changes of tables with
    foreign keys are applied without them during a snapshot, so that tables that refer to one are concerned, too.

    Raises:
        SourceError: E3461.
        SourceUnavailable.
    """
    if server.get("innodb_native_foreign_keys") == _LOGGED:
        return
    acting = [table] if _ACTING.search(text) else []
    if not acting and "FOREIGN KEY" in text:
        acting = [child for child in _children(session, table) if _ACTING.search(text_of(session, child) or "")]
    if acting:
        raise SourceError(
            "E3461",
            f"a snapshot of {table} can't be written to a database server",
            found=f"foreign keys of {', '.join(acting)} change rows, and the source does not log these changes",
            wanted="foreign keys of RESTRICT or NO ACTION, or MySQL 9.6 or later as the source",
            fix="Copy the tables with a dump that contains its position and set source.start, or exclude the table in "
            "source.snapshot.tables.",
            table=table,
        )


def _children(session: Session, table: str) -> Iterator[str]:
    rows = session.rows(
        "SELECT DISTINCT table_schema, table_name FROM information_schema.key_column_usage "
        "WHERE referenced_table_schema = %s AND referenced_table_name = %s",
        split(session, table),
    )
    return (f"{database}.{name}" for database, name in rows)
