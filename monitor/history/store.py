"""Chunks of all tasks and machines in one SQLite file, bounded in size."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from monitor.history.steps import STEPS, Step
from monitor.sqlite_file import opened
from replicator.errors import ProcessError

_FORMAT: Final = 1
"""`user_version` of the file."""
_PAGES: Final = "SELECT (SELECT page_count FROM pragma_page_count) - (SELECT freelist_count FROM pragma_freelist_count)"
_SCHEMA: Final = (
    "CREATE TABLE IF NOT EXISTS task (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    "CREATE TABLE IF NOT EXISTS chunk (task INTEGER NOT NULL, step INTEGER NOT NULL, begin INTEGER NOT NULL, "
    "data BLOB NOT NULL, PRIMARY KEY (task, step, begin)) WITHOUT ROWID",
    "PRAGMA user_version=1",
)
_ROUNDS: Final = 20


class Stored(msgspec.Struct, frozen=True):
    """One chunk, encoded. key: name of the task, or of a machine as `machine_key` has it; begin: epoch seconds."""

    key: str
    step: Step
    begin: int
    data: bytes


class Store:
    """Used by one thread at a time. Raises sqlite3.Error where a method can't read or write the file.

    Args:
        path: of the file; None: in memory, until the process ends.
        limit: bytes of the file.

    Raises:
        ProcessError: E5130, the file is in use, or can't be used.
    """

    def __init__(self, path: Path | None, limit: int) -> None:
        self.path = path
        self._limit = limit
        self._tasks: dict[str, int] = {}
        try:
            self._db = opened(path, _SCHEMA, _FORMAT, alone=True)
        except (OSError, sqlite3.Error) as error:
            raise _unusable(path, error) from error

    def read(self, key: str, step: Step, begin: int) -> bytes | None:
        found = self._db.execute(
            "SELECT data FROM chunk WHERE task = ? AND step = ? AND begin = ?", (self._id(key), step.seconds, begin)
        ).fetchone()
        return found[0] if found else None

    def between(self, key: str, step: Step, first: int, last: int) -> dict[int, bytes]:
        """Chunks by begin, which is between the two."""
        sql = "SELECT begin, data FROM chunk WHERE task = ? AND step = ? AND begin BETWEEN ? AND ?"
        return dict(self._db.execute(sql, (self._id(key), step.seconds, first, last)))

    def write(self, chunks: Iterable[Stored]) -> None:
        """In one transaction."""
        rows = [(self._id(one.key, create=True), one.step.seconds, one.begin, one.data) for one in chunks]
        with self._db:
            self._db.executemany("INSERT OR REPLACE INTO chunk VALUES (?, ?, ?, ?)", rows)

    def trim(self, now_s: float) -> None:
        """Deletes what is older than it is kept, and then, while the file is too large, what is nearest to that."""
        with self._db:
            for step in STEPS:
                self._delete_before(step, now_s - step.keep_s)
            for round_ in range(1, _ROUNDS):
                if self.size <= self._limit:
                    break
                for step in STEPS:
                    self._delete_before(step, now_s - step.keep_s * (_ROUNDS - round_) / _ROUNDS)
            self._db.execute("DELETE FROM task WHERE NOT EXISTS (SELECT 1 FROM chunk WHERE chunk.task = task.id)")
            self._tasks.clear()

    def _delete_before(self, step: Step, time_s: float) -> None:
        last = int(time_s) - step.chunk_s
        self._db.execute("DELETE FROM chunk WHERE step = ? AND begin < ?", (step.seconds, last))

    @property
    def size(self) -> int:
        """Bytes that are in use. The file does not shrink, what is deleted is used again."""
        (pages,) = self._db.execute(_PAGES).fetchone()
        (page_size,) = self._db.execute("PRAGMA page_size").fetchone()
        return int(pages) * int(page_size)

    def close(self) -> None:
        self._db.close()

    def _id(self, task: str, *, create: bool = False) -> int:
        known = self._tasks.get(task)
        if known is not None:
            return known
        if create:
            with self._db:
                self._db.execute("INSERT OR IGNORE INTO task (name) VALUES (?)", (task,))
        found = self._db.execute("SELECT id FROM task WHERE name = ?", (task,)).fetchone()
        if found is None:
            return -1
        self._tasks[task] = found[0]
        return int(found[0])


def _unusable(path: Path | None, error: Exception) -> ProcessError:
    locked = getattr(error, "sqlite_errorcode", None) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
    return ProcessError(
        "E5130",
        f"the history of the Monitor in {path} can't be used",
        found="another Monitor uses it" if locked else str(error),
        wanted="a file of this Monitor alone, in a directory that it may write to",
        fix="Name another file with --history, or keep none with --no-history.",
    )
