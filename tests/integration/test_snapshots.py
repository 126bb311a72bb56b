"""Snapshots on real servers: rows from before a task, beside a stream that changes them."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from dev.servers.database import Database, MariaDB
from replicator.assembly import snapshot_checks
from replicator.assembly.pipeline import build_pipeline, build_source
from replicator.checkpoint.history import MemoryHistory
from replicator.checkpoint.memory_store import MemoryStore
from replicator.config.load import parse_task
from replicator.model.term import Term
from replicator.sink.memory_sink import MemoryBroker, MemorySink, Stored
from tests.support.in_memory import Unseen

pytestmark = [pytest.mark.servers, pytest.mark.timeout(120)]


class Copy:
    """A task with a snapshot, over its restarts."""

    def __init__(self, server: Database, name: str, tables: list[str], **snapshot: Any) -> None:
        kind = "mariadb" if isinstance(server, MariaDB) else "mysql"
        source = {"type": kind, "port": server.port, "user": "replicator", "password": "env:TEST_PASSWORD"}
        source |= {"tables": tables, "snapshot": {"mode": "initial", **snapshot}}
        self.data: dict[str, Any] = {"name": name, "source": source, "sink": {"type": "stdout"}}
        self.broker, self.store, self.history = MemoryBroker(), MemoryStore(), MemoryHistory()

    def run(self, **options: Any) -> None:
        """To the end of the log as it is when this begins, and of the snapshot."""
        config = parse_task(self.data)
        sink, term = MemorySink(config.name, self.broker), Term.unlimited(config.name)
        pipeline = build_pipeline(
            config, term=term, store=self.store, observer=Unseen(), sink=sink, history=self.history, **options
        )
        watch = threading.Timer(60, pipeline.drain)
        watch.start()
        pipeline.run(build_source(config).end_position())
        late = not watch.is_alive()
        watch.cancel()
        assert not late, f"no end: {self.store.load()}"

    def records(self, table: str) -> Iterator[Stored]:
        return (record for record in self.broker.records if record.topic.endswith(f".{table}"))

    def rows(self, table: str) -> dict[int, dict[str, Any]]:
        """What a consumer has at the end."""
        found: dict[int, dict[str, Any]] = {}
        for record in self.records(table):
            key = json.loads(record.key or b"")["id"]
            value = json.loads(record.value or b"null")
            if value is None or value["op"] == "d":
                found.pop(key, None)
            else:
                found[key] = value["after"]
        return found

    def operations(self, table: str) -> list[str]:
        return [json.loads(record.value)["op"] for record in self.records(table) if record.value is not None]


@pytest.fixture(params=["mysql", "mariadb"])
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[Database, str]:
    """A server, and a database of its own."""
    monkeypatch.setenv("TEST_PASSWORD", "replicator")
    server: Database = request.getfixturevalue(request.param)
    shop: str = request.getfixturevalue("database" if request.param == "mysql" else "mariadb_database")
    return server, shop


def _fill(server: Database, table: str, rows: int) -> None:
    server.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, version BIGINT NOT NULL, text VARCHAR(40))")
    for start in range(0, rows, 1000):
        values = ", ".join(f"({number}, 0, 'before')" for number in range(start, min(rows, start + 1000)))
        server.execute(f"INSERT INTO {table} VALUES {values}")


class Changes:
    """A thread that changes rows of a table at random, its keys too."""

    def __init__(self, server: Database, table: str, keys: int, seed: int) -> None:
        self._server, self._table, self._keys = server, table, keys
        self._random = random.Random(seed)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.version = 0

    def __enter__(self) -> Changes:
        self._thread.start()
        return self

    def __exit__(self, *ignored: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        connection = self._server.connect(autocommit=True)
        with connection, connection.cursor() as cursor:
            while not self._stop.is_set():
                self.version += 1
                key, other = self._random.randrange(self._keys), self._random.randrange(self._keys)
                kind = self._random.randrange(10)
                if kind < 5:
                    cursor.execute(f"UPDATE {self._table} SET version = {self.version} WHERE id = {key}")
                elif kind < 6:
                    cursor.execute(f"DELETE FROM {self._table} WHERE id = {key}")
                elif kind < 8:
                    cursor.execute(f"INSERT IGNORE INTO {self._table} VALUES ({key}, {self.version}, 'new')")
                elif kind < 9:
                    cursor.execute(
                        f"UPDATE IGNORE {self._table} SET id = {other}, version = {self.version} WHERE id = {key}"
                    )
                else:
                    cursor.execute(
                        f"UPDATE {self._table} SET version = {self.version} WHERE id BETWEEN {key} AND {key + 50}"
                    )


def _table(server: Database, table: str) -> dict[int, dict[str, Any]]:
    return {
        row[0]: {"id": row[0], "version": row[1], "text": row[2]} for row in server.execute(f"SELECT * FROM {table}")
    }


def test_a_quiet_table(place: tuple[Database, str]) -> None:
    server, shop = place
    _fill(server, f"{shop}.item", 2500)
    copy = Copy(server, "copy", [f"{shop}.*"], chunk_rows=1000)
    copy.run()
    assert copy.operations("item") == ["r"] * 2500
    assert copy.rows("item") == _table(server, f"{shop}.item")
    server.execute(f"INSERT INTO {shop}.item VALUES (2500, 1, 'behind')")
    copy.run()
    assert copy.operations("item") == [*["r"] * 2500, "c"]
    last = copy.store.load()
    assert last is not None and last.position.snapshot is not None
    progress = last.position.snapshot
    assert (progress.rows, progress.finished, progress.tables, progress.open) == (2500, 1, 1, None)
    assert progress.ended_ms >= progress.begun_ms > 0


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_table_that_changes_while_it_is_read(place: tuple[Database, str], seed: int) -> None:
    server, shop = place
    table = f"{shop}.item"
    _fill(server, table, 8000)
    copy = Copy(server, "copy", [f"{shop}.*"], chunk_rows=100, max_rows_per_s=4000)
    with Changes(server, table, 8200, seed) as changes:
        copy.run()
    copy.run()
    assert changes.version > 100
    assert copy.rows("item") == _table(server, table)
    versions: dict[int, int] = {}
    for record in copy.records("item"):
        value = json.loads(record.value or b"null")
        if value is not None and value["op"] != "d":
            key, version = value["after"]["id"], value["after"]["version"]
            assert version >= versions.get(key, 0)
            versions[key] = version
    read = [
        json.loads(record.key or b"")["id"] for record in copy.records("item") if b'"op":"r"' in (record.value or b"")
    ]
    assert len(read) == len(set(read)) and 1000 < len(read) <= 8200


def test_check_tells_what_it_would_read(place: tuple[Database, str]) -> None:
    server, shop = place
    _fill(server, f"{shop}.item", 100)
    server.execute(f"CREATE TABLE {shop}.log (text VARCHAR(40))")
    config = parse_task(Copy(server, "copy", [f"{shop}.*"]).data)
    found = {finding.id: finding for finding in snapshot_checks.check(config)}
    assert found["source.snapshot"].found.startswith("2 tables, about ")
    assert found["source.snapshot_keys"].found == f"{shop}.item (id)"
    assert found["source.snapshot_without_key"].severity == "fail"
    assert f"{shop}.log" in found["source.snapshot_without_key"].found
    assert found["source.snapshot_privileges"].severity == "ok"
