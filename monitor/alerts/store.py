"""Alerts over a restart of the Monitor, and those that have ended, in a SQLite file next to that of the charts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from monitor.sqlite_file import opened
from replicator.alerts.evaluation import Active, Change, Ended, Key
from replicator.model.decoding import from_json

_FORMAT: Final = 1
KEPT: Final = 10_000
"""Ended alerts."""
_SCHEMA: Final = (
    "CREATE TABLE IF NOT EXISTS active (rule TEXT, kind TEXT, name TEXT, data BLOB NOT NULL, "
    "PRIMARY KEY (rule, kind, name)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS ended (id INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, data BLOB NOT NULL)",
    "CREATE INDEX IF NOT EXISTS ended_at ON ended (time_ms)",
    "PRAGMA user_version=1",
)


class Past(msgspec.Struct, frozen=True):
    """An alert that has fired and ended."""

    active: Active
    ended_ms: int
    how: Ended


class AlertStore:
    """Used by one thread at a time. Raises sqlite3.Error where a method can't read or write the file.

    Args:
        path: None: in memory.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._db = opened(path, _SCHEMA, _FORMAT)

    def active(self) -> dict[Key, Active]:
        """What was active when the last Monitor of this file ended. What can't be read is left out."""
        found = {}
        for (data,) in self._db.execute("SELECT data FROM active"):
            try:
                one = from_json(data, Active)
            except msgspec.DecodeError:
                continue
            found[one.key] = one
        return found

    def save(self, active: Mapping[Key, Active], changes: Iterable[Change]) -> None:
        """In one transaction: all that is active now, and what has ended since."""
        ended = [Past(one.active, one.time_ms, one.ended) for one in changes if one.ended is not None]
        with self._db:
            self._db.execute("DELETE FROM active")
            rows = [(*key, msgspec.json.encode(one)) for key, one in active.items()]
            self._db.executemany("INSERT INTO active VALUES (?, ?, ?, ?)", rows)
            pasts = [(one.ended_ms, msgspec.json.encode(one)) for one in ended]
            self._db.executemany("INSERT INTO ended (time_ms, data) VALUES (?, ?)", pasts)
            if pasts:
                self._db.execute("DELETE FROM ended WHERE id <= (SELECT max(id) FROM ended) - ?", (KEPT,))

    def past(self, most: int) -> list[Past]:
        """The newest first."""
        found = []
        for (data,) in self._db.execute("SELECT data FROM ended ORDER BY id DESC LIMIT ?", (most,)):
            try:
                found.append(from_json(data, Past))
            except msgspec.DecodeError:
                continue
        return found

    def close(self) -> None:
        self._db.close()


def beside(charts: Path | None) -> Path | None:
    """The file of alerts of a Monitor whose charts are there."""
    return charts.with_name(f"{charts.stem}.alerts{charts.suffix}") if charts is not None else None
