"""The schema history of `replicator run`: rows of the state file, and an implementation in memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from replicator.errors import ProcessError
from replicator.model.decoding import from_msgpack
from replicator.model.schema_history import SchemaRecord

SCHEMA: Final = (
    "CREATE TABLE IF NOT EXISTS history (number INTEGER PRIMARY KEY AUTOINCREMENT, task TEXT NOT NULL, "
    "kind TEXT NOT NULL, body BLOB NOT NULL)",
    "CREATE INDEX IF NOT EXISTS history_of_task ON history (task, number)",
)
_BEFORE_BASE: Final = (
    "DELETE FROM history WHERE task = ? AND number < "
    "(SELECT COALESCE(MAX(number), 0) FROM history WHERE task = ? AND kind = 'base')"
)


class MemoryHistory:
    def __init__(self, records: Sequence[SchemaRecord] = ()) -> None:
        self.records = list(records)

    def load(self) -> Sequence[SchemaRecord]:
        return tuple(self.records)

    def append(self, record: SchemaRecord) -> None:
        if record.kind == "base":
            self.records.clear()
        self.records.append(record)


class SqliteHistory:
    """Shares the connection of the checkpoint store; each statement is a separate transaction, so that the two
    threads that use it do not meet. A base counts as soon as its row is written; earlier rows are deleted after it.

    Args:
        unusable: makes the error for a file that can't be used.
    """

    def __init__(self, db: sqlite3.Connection, task: str, unusable: Callable[[Exception], ProcessError]) -> None:
        self._db = db
        self._task = task
        self._unusable = unusable

    def load(self) -> Sequence[SchemaRecord]:
        try:
            rows = self._db.execute("SELECT body FROM history WHERE task = ? ORDER BY number", (self._task,)).fetchall()
            records = [from_msgpack(row[0], SchemaRecord) for row in rows]
        except (sqlite3.Error, msgspec.MsgspecError, TypeError) as error:
            raise self._unusable(error) from error
        return since_base(records)

    def append(self, record: SchemaRecord) -> None:
        try:
            self._db.execute(
                "INSERT INTO history (task, kind, body) VALUES (?, ?, ?)",
                (self._task, record.kind, msgspec.msgpack.encode(record)),
            )
            if record.kind == "base":
                self._db.execute(_BEFORE_BASE, (self._task, self._task))
        except sqlite3.Error as error:
            raise self._unusable(error) from error


def since_base(records: Sequence[SchemaRecord]) -> Sequence[SchemaRecord]:
    """The last base and what follows it."""
    bases = [at for at, record in enumerate(records) if record.kind == "base"]
    return tuple(records[bases[-1] :]) if bases else tuple(records)
