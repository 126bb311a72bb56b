"""XA transactions of real servers, through the whole data path: rows come at XA COMMIT, over restarts too, or not at
all. The path is ended and begun anew between any two steps where a test says so."""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymysql
import pytest

from dev.servers.database import Database, MariaDB
from replicator.assembly.pipeline import build_pipeline, build_source
from replicator.checkpoint.sqlite import SqliteStore
from replicator.config.load import parse_task
from replicator.errors import DecodeError
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position
from replicator.model.term import Term
from replicator.pipeline.delivery_progress import DeliveryCounters
from replicator.sink.memory_sink import MemoryBroker, MemorySink
from tests.support.binlogs import purge_all_but_last
from tests.support.present import present
from tests.support.settings import set_global

KINDS = ["mysql", "mariadb"]


class Unseen:
    def streaming(self, position: Position) -> None: ...

    def waiting(self, error: Exception) -> None:
        raise error

    def progress(self, checkpoint: Checkpoint, figures: DeliveryCounters) -> None: ...


class Task:
    """A task over a table `t (id, v)`, whose runs go on where the last one ended."""

    def __init__(self, server: Database, folder: Path, held_by: str) -> None:
        self.server = server
        self.name = f"xa_{uuid.uuid4().hex[:8]}"
        self.broker = MemoryBroker()
        self._folder = folder
        self._held_by = held_by
        server.execute(f"CREATE DATABASE {self.name}")
        server.execute(f"CREATE TABLE {self.name}.t (id INT PRIMARY KEY, v INT)")
        server.execute(f"CREATE TABLE {self.name}.hidden (id INT PRIMARY KEY)")
        kind = "mariadb" if isinstance(server, MariaDB) else "mysql"
        source = {"type": kind, "port": server.port, "user": server.replicator[0], "password": "env:XA_PASSWORD"}
        rest = {"tables": [f"{self.name}.t"], "heartbeat_s": 1}
        sink = {"type": "file", "path": str(folder / "out.jsonl")}
        self.config = parse_task({"name": self.name, "source": source | rest, "sink": sink})
        self.position = self.run()

    def drop(self) -> None:
        """What is still prepared would lock the tables for ever."""
        for _, length, _, data in self.server.execute("XA RECOVER"):
            self.server.execute(f"XA ROLLBACK '{data[:length]}'")
        self.say("SET lock_wait_timeout = 5", f"DROP DATABASE {self.name}")

    def say(self, *statements: str) -> None:
        """In a session that ends then: what it has prepared belongs to nobody."""
        with contextlib.closing(self.server.connect(database=self.name)) as connection:
            for sql in statements:
                connection.cursor().execute(sql)

    def run(self) -> Position:
        """Delivers what has been written until now."""
        store = SqliteStore(self._folder / "state", self.name)
        sink: Any = None
        if self._held_by == "store":
            sink = MemorySink(self.name, self.broker, "at_least_once")
        elif self._held_by == "sink":
            sink = MemorySink(self.name, self.broker)
        term = Term.unlimited(self.name, uid=store.uid)
        try:
            made = build_pipeline(
                self.config, term=term, store=store, observer=Unseen(), sink=sink, history=store.history
            )
            last = made.run(build_source(self.config).end_position)
            assert last is not None
            return last.position
        finally:
            store.close()

    def ids(self) -> list[tuple[str, int]]:
        """(operation, id) of every record so far."""
        if self._held_by == "file":
            lines = [json.loads(line) for line in (self._folder / "out.jsonl").read_text().splitlines()]
            values = [line["value"] for line in lines]
        else:
            values = [record.value and record.value.decode() for record in self.broker.records]
        found = [json.loads(value) if isinstance(value, str) else value for value in values if value is not None]
        return [(value["op"], (value["after"] or value["before"])["id"]) for value in found]

    def rows(self) -> list[int]:
        """Their row numbers; not with a file."""
        return [int(dict(record.headers)["row"]) for record in self.broker.records]


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Database:
    found: Database = request.getfixturevalue(request.param)
    monkeypatch.setenv("XA_PASSWORD", found.replicator[1])
    return found


@pytest.fixture
def task(server: Database, tmp_path: Path) -> Iterator[Task]:
    made = Task(server, tmp_path, "sink")
    yield made
    made.drop()


def prepare(task: Task, xid: str, *statements: str) -> None:
    task.say(f"XA START '{xid}'", *statements, f"XA END '{xid}'", f"XA PREPARE '{xid}'")


@pytest.mark.parametrize("held_by", ["sink", "store", "file"])
def test_committed_after_a_restart(server: Database, tmp_path: Path, held_by: str) -> None:
    task = Task(server, tmp_path, held_by)
    prepare(task, f"{task.name}-a", "INSERT INTO t VALUES (1, 1), (2, 2)", "UPDATE t SET v = 3 WHERE id = 1")
    server.execute(f"INSERT INTO {task.name}.t VALUES (9, 9)")
    position = task.run()
    assert task.ids() == [("c", 9)]
    assert len(position.prepared) == 1
    server.execute("FLUSH BINARY LOGS")
    server.execute(f"XA COMMIT '{task.name}-a'")
    server.execute(f"INSERT INTO {task.name}.t VALUES (10, 9)")
    assert task.run().prepared == ()
    assert task.ids() == [("c", 9), ("c", 1), ("c", 2), ("u", 1), ("c", 10)]
    assert held_by == "file" or task.rows() == [0, 0, 1, 2, 0]
    task.drop()


def test_names_that_are_not_in_the_log(server: Database, tmp_path: Path) -> None:
    """MINIMAL metadata, and DDL between: the server keeps it away from tables of what is prepared."""
    with set_global(server, "binlog_row_metadata", "MINIMAL"):
        task = Task(server, tmp_path, "sink")
        task.say(f"ALTER TABLE {task.name}.t ADD w VARCHAR(9) DEFAULT 'x' FIRST")
        prepare(task, f"{task.name}-a", "INSERT INTO t VALUES ('a', 1, 1)")
        assert len(task.run().prepared) == 1
        task.say("ALTER TABLE hidden ADD more INT", "FLUSH BINARY LOGS")
        with pytest.raises(pymysql.Error, match="Lock wait timeout"):
            task.say("SET lock_wait_timeout = 1, innodb_lock_wait_timeout = 1", "ALTER TABLE t DROP v")
        task.run()
        server.execute(f"XA COMMIT '{task.name}-a'")
        task.say("ALTER TABLE t RENAME COLUMN v TO after_it")
        task.run()
        (value,) = [json.loads(present(record.value)) for record in task.broker.records if record.topic.endswith(".t")]
        assert value["after"] == {"w": "a", "id": 1, "v": 1}
        task.drop()


def test_what_was_prepared_before_the_task(server: Database, tmp_path: Path) -> None:
    task = Task(server, tmp_path, "sink")
    prepare(task, f"{task.name}-a", "INSERT INTO t VALUES (1, 1)")
    late = Task(server, tmp_path / "late", "sink")
    server.execute(f"XA COMMIT '{task.name}-a'")
    with pytest.raises(DecodeError, match=r"E2301 .*XA PREPARE.*`source.start`.*task skip"):
        late.run()
    task.run()
    assert task.ids() == [("c", 1)]
    task.drop()
    late.drop()


def test_rolled_back_interleaved_and_one_phase(task: Task) -> None:
    a, b, c, d = (f"{task.name}-{letter}" for letter in "abcd")
    task.say(f"XA START '{d}'", "INSERT INTO t VALUES (4, 4)", f"XA END '{d}'", f"XA COMMIT '{d}' ONE PHASE")
    task.say(f"XA START '{d}'", "INSERT INTO t VALUES (5, 4)", f"XA END '{d}'", f"XA ROLLBACK '{d}'")
    prepare(task, b, "INSERT INTO t VALUES (3, 3)")
    prepare(task, a, "INSERT INTO t VALUES (1, 1)", "SAVEPOINT s", "INSERT INTO t VALUES (2, 2)", "ROLLBACK TO s")
    prepare(task, c, "INSERT INTO hidden VALUES (1)")
    task.run()
    task.server.execute(f"XA ROLLBACK '{b}'")
    task.server.execute(f"XA COMMIT '{c}'")
    task.server.execute(f"XA COMMIT '{a}'")
    assert task.run().prepared == ()
    assert task.ids() == [("c", 4), ("c", 1)]


def test_binlog_that_was_purged_meanwhile(task: Task) -> None:
    prepare(task, f"{task.name}-a", "INSERT INTO t VALUES (1, 1)")
    task.run()
    task.server.execute("FLUSH BINARY LOGS")
    task.run()
    purge_all_but_last(task.server)
    task.server.execute(f"XA COMMIT '{task.name}-a'")
    with pytest.raises(DecodeError) as raised:
        task.run()
    assert (raised.value.code, raised.value.transient) == ("E2312", False)
    assert task.ids() == []
