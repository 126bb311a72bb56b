"""The checkpoint store of `replicator run`: one SQLite file, one row per task."""

from __future__ import annotations

import sqlite3
import uuid
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

import msgspec

from replicator.checkpoint import history
from replicator.errors import ProcessError
from replicator.model.checkpoint import Checkpoint
from replicator.model.decoding import from_json
from replicator.model.quarantine import TaskOrders
from replicator.model.snapshot_orders import TableChoice

_Table: TypeAlias = Literal["checkpoint", "quarantine", "owner", "choice"]
T = TypeVar("T")
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS checkpoint (task TEXT PRIMARY KEY, body BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS quarantine (task TEXT PRIMARY KEY, body BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS owner (task TEXT PRIMARY KEY, body BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS choice (task TEXT PRIMARY KEY, body BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS incarnation (task TEXT PRIMARY KEY, uid TEXT NOT NULL)",
    *history.SCHEMA,
)


class Owner(msgspec.Struct, frozen=True):
    """run: id of the runs that use the file; sink: that its position is of, in words."""

    run: str
    sink: str


class Chosen(msgspec.Struct, frozen=True):
    """Which tables the last run has chosen; `version`: grows with each change."""

    choice: TableChoice
    version: int = 1


class SqliteStore:
    """Durable at once (`synchronous=FULL`). One process at a time: an exclusive lock is held while it is open, so that
    a second `replicator run` on the same file is refused instead of delivering everything twice.

    Attributes:
        history: the schema history, in the same file.
        uid: names this life of the task. A new state file is a new one: what a sink holds of another is not its own.

    Raises ProcessError E5010 when the file can't be used.
    """

    def __init__(self, path: Path, task: str) -> None:
        self._task = task
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=1.0, isolation_level=None, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            raise self._unusable(error) from error
        try:
            self.uid = self._prepare()
        except sqlite3.Error as error:
            self._db.close()  # it may hold the file's lock
            raise self._unusable(error) from error
        self.history = history.SqliteHistory(self._db, task, self._unusable)

    def _prepare(self) -> str:
        """Makes the tables and takes the file's lock; returns the id of this life of the task."""
        self._db.execute("PRAGMA locking_mode=EXCLUSIVE")
        self._db.execute("PRAGMA synchronous=FULL")
        for statement in _SCHEMA:
            self._db.execute(statement)
        self._db.execute("BEGIN EXCLUSIVE")
        self._db.execute("INSERT OR IGNORE INTO incarnation VALUES (?, ?)", (self._task, uuid.uuid4().hex))
        self._db.execute("COMMIT")
        uid: str = self._db.execute("SELECT uid FROM incarnation WHERE task = ?", (self._task,)).fetchone()[0]
        return uid

    def _unusable(self, error: Exception) -> ProcessError:
        return ProcessError(
            "E5010",
            f"the state file {self._path} can't be used",
            found=str(error),
            wanted="a writable state file that no other `replicator run` uses",
        )

    def load(self) -> Checkpoint | None:
        return self._get("checkpoint", Checkpoint)

    def save(self, checkpoint: Checkpoint) -> None:
        self._put("checkpoint", msgspec.json.encode(checkpoint))

    def claim(self, owner: Owner, *, again: bool = False) -> Owner:
        """Whose the file is: `owner`, where nobody has claimed it, or `again`."""
        present = None if again else self._get("owner", Owner)
        if present is None:
            self._put("owner", msgspec.json.encode(owner))
        return present or owner

    def chosen(self) -> Chosen | None:
        return self._get("choice", Chosen)

    def choose(self, chosen: Chosen, orders: TaskOrders) -> None:
        """Together with the orders that begin with it."""
        try:
            self._db.execute("BEGIN")
            self._put("choice", msgspec.json.encode(chosen))
            self.order(orders)
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def orders(self) -> TaskOrders:
        """What was ordered of tables: quarantine and snapshots."""
        return self._get("quarantine", TaskOrders) or TaskOrders()

    def order(self, orders: TaskOrders) -> None:
        self._put("quarantine", msgspec.json.encode(orders))

    def _get(self, name: _Table, kind: type[T]) -> T | None:
        try:
            row = self._db.execute(f"SELECT body FROM {name} WHERE task = ?", (self._task,)).fetchone()  # noqa: S608
            return None if row is None else from_json(row[0], kind)
        except (sqlite3.Error, msgspec.MsgspecError) as error:
            raise self._unusable(error) from error

    def _put(self, name: _Table, body: bytes) -> None:
        try:
            self._db.execute(
                f"INSERT INTO {name} VALUES (?, ?) ON CONFLICT (task) DO UPDATE SET body = excluded.body",  # noqa: S608
                (self._task, body),
            )
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def close(self) -> None:
        self._db.close()
