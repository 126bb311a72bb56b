"""Notices that others alter a table of the target while rows are written to it.

Row images have no names: columns that change places get each other's values, and the servers only compare types. A look
at the columns costs as much as several transactions, so it is not taken in each of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from replicator.errors import SinkError
from replicator.mysql.session import Session

_EVERY_SECONDS: Final = 1.0
_SHARE: Final = 20
"""Looks take at most one part of so many of the time."""
_COLUMNS: Final = (
    "SELECT COLUMN_NAME FROM information_schema.COLUMNS "
    "WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s ORDER BY ORDINAL_POSITION"
)


class Seen(msgspec.Struct, frozen=True):
    """A table at the target as the rows of a session are written to it. `columns`: up to the last one that rows have.
    `source`: its name there."""

    database: str
    name: str
    source: str
    columns: tuple[str, ...]


class AlteredTables:
    """Of one session. `clock`: monotonic, seconds."""

    def __init__(self, session: Session, clock: Callable[[], float] = time.monotonic) -> None:
        self._session = session
        self._clock = clock
        self._used: dict[Seen, None] = {}
        self._due = clock() + _EVERY_SECONDS

    def used(self, table: Seen) -> None:
        """Rows are about to be written to it."""
        self._used[table] = None

    def look(self, *, now: bool = False) -> None:
        """Compares the tables that were used since the last time, if it is time for it.

        Raises:
            SinkError: E3428, one was altered.
            SinkUnavailable.
        """
        began = self._clock()
        if not self._used or (began < self._due and not now):
            return
        used, self._used = self._used, {}
        for table in used:
            found = [str(name) for (name,) in self._session.rows(_COLUMNS, (table.database, table.name))]
            if tuple(found[: len(table.columns)]) != table.columns:
                raise _altered(table, found)
        ended = self._clock()
        self._due = ended + max(_EVERY_SECONDS, _SHARE * (ended - began))


def _altered(table: Seen, found: Sequence[str]) -> SinkError:
    return SinkError(
        "E3428",
        f"{table.database}.{table.name} at the target was altered by another session while rows were written to it",
        found=f"columns {', '.join(found) or '(none)'}",
        wanted=f"columns {', '.join(table.columns)}",
        fix="Rows of the last seconds may have values in other columns: `replicator task retry NAME` continues with "
        "the columns as they are now; then `replicator verify NAME` finds these rows, and --repair corrects them. "
        "Pause the task before you alter tables.",
        table=table.source,
    )
