"""One suite over every checkpoint store."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from replicator.checkpoint.memory_store import MemoryStore
from replicator.checkpoint.sqlite import SqliteStore
from replicator.errors import ProcessError
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position, Prepared
from replicator.pipeline.ports import CheckpointStore

Make = Callable[[], CheckpointStore]
PREPARED = Prepared("X'61',X'',1", "binlog.000001", 4, "uuid:1-4")
FIRST = Checkpoint(Position("binlog.000001", 4, "uuid:1-5", 3, (PREPARED,)), 7, 1_000, 900, 12, 5)
SECOND = Checkpoint(Position("binlog.000002", 157, "uuid:1-9"), 8, 2_000, 1_900, 40, 9)


@pytest.fixture(params=["memory", "sqlite"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """Makes the store; a second call gives the one that a restarted process would have."""
    if request.param == "memory":
        store = MemoryStore()
        return lambda: store
    opened: list[SqliteStore] = []

    def sqlite() -> SqliteStore:
        while opened:
            opened.pop().close()
        opened.append(SqliteStore(tmp_path / "state" / "task.sqlite", "task"))
        return opened[0]

    return sqlite


def test_nothing_is_stored_at_first(make: Make) -> None:
    assert make().load() is None


def test_the_last_one_saved_is_loaded_whole(make: Make) -> None:
    store = make()
    store.save(FIRST)
    store.save(SECOND)
    assert store.load() == SECOND


def test_it_is_there_after_a_restart(make: Make) -> None:
    make().save(FIRST)
    assert make().load() == FIRST


def test_tasks_in_one_state_file_do_not_meet(tmp_path: Path) -> None:
    one = SqliteStore(tmp_path / "state.sqlite", "one")
    one.save(FIRST)
    one.close()
    two = SqliteStore(tmp_path / "state.sqlite", "two")
    assert two.load() is None
    two.close()


def test_a_task_keeps_its_incarnation_as_long_as_its_state_file(tmp_path: Path) -> None:
    def uid(file: str, task: str) -> str:
        store = SqliteStore(tmp_path / file, task)
        store.close()
        return store.uid

    assert uid("state.sqlite", "task") == uid("state.sqlite", "task")
    assert len({uid("state.sqlite", "task"), uid("state.sqlite", "other"), uid("new.sqlite", "task")}) == 3


def test_a_second_run_on_the_same_state_file_is_refused(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "state.sqlite", "task")
    store.save(FIRST)
    with pytest.raises(ProcessError, match="E5010"):
        SqliteStore(tmp_path / "state.sqlite", "task")
    store.close()


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite"
    path.write_text("this is not a database, but it is long enough to look like a file of one" * 20)
    with pytest.raises(ProcessError, match="E5010"):
        SqliteStore(path, "task")


def test_a_body_that_is_not_ours_is_refused(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "state.sqlite", "task")
    store._db.execute("INSERT INTO checkpoint VALUES ('task', 'garbage')")
    with pytest.raises(ProcessError, match="E5010"):
        store.load()
    store.close()


def test_a_refused_file_is_left_unlocked(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE incarnation (something TEXT) STRICT")
    with pytest.raises(ProcessError, match="E5010") as kept:
        SqliteStore(path, "task")
    with contextlib.closing(sqlite3.connect(path, timeout=0)) as other:
        other.execute("BEGIN EXCLUSIVE")
    assert kept.value.__cause__ is not None
