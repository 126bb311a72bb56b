"""Opens the SQLite files of the Monitor."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path


def opened(path: Path | None, schema: Sequence[str], form: int, *, alone: bool = False) -> sqlite3.Connection:
    """
    Args:
        path: None: in memory. A file that is damaged, or of another format, is kept under another name, and a new one
            begins.
        schema: statements that make what is not there yet.
        form: number of the format, in `user_version` of the file.
        alone: no other process may use the file.

    Raises:
        OSError, sqlite3.Error: it can't be used.
    """
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        return _connected(path, schema, form, alone=alone)
    except sqlite3.DatabaseError as error:
        if path is None or isinstance(error, sqlite3.OperationalError):
            raise
        path.rename(path.with_name(f"{path.name}.{int(time.time())}.damaged"))
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        return _connected(path, schema, form, alone=alone)


def _connected(path: Path | None, schema: Sequence[str], form: int, *, alone: bool) -> sqlite3.Connection:
    database = sqlite3.connect(":memory:" if path is None else path, timeout=1.0, check_same_thread=False)
    try:
        if alone:
            database.execute("PRAGMA locking_mode=EXCLUSIVE")
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=NORMAL")
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version not in (0, form):
            raise sqlite3.DatabaseError(f"format {version}")
        with database:
            for statement in schema:
                database.execute(statement)
    except BaseException:
        database.close()
        raise
    return database
