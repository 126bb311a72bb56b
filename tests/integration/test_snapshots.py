"""Snapshots on real servers: rows from before a task, beside a stream that changes them."""

from __future__ import annotations

import json
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
from replicator.coordination.clock import now_ms
from replicator.errors import SourceError
from replicator.model.quarantine import Orders
from replicator.model.quarantine_orders import put, release
from replicator.model.term import Term
from replicator.pipeline.pipeline import Pipeline
from replicator.sink.memory_sink import MemoryBroker, MemorySink, Stored
from tests.support.changes import Changes, Copied, contents, fill
from tests.support.in_memory import Unseen

pytestmark = [pytest.mark.servers, pytest.mark.timeout(120)]


class Copy:
    """A task with a snapshot, over its restarts."""

    def __init__(self, server: Database, name: str, replicated: list[str], **snapshot: Any) -> None:
        kind = "mariadb" if isinstance(server, MariaDB) else "mysql"
        source = {"type": kind, "port": server.port, "user": "replicator", "password": "env:TEST_PASSWORD"}
        source |= {"tables": replicated, "snapshot": {"mode": "initial", **snapshot}}
        self.data: dict[str, Any] = {"name": name, "source": source, "sink": {"type": "stdout"}}
        self.broker, self.store, self.history = MemoryBroker(), MemoryStore(), MemoryHistory()

    def pipeline(self, **options: Any) -> Pipeline:
        config = parse_task(self.data)
        sink, term = MemorySink(config.name, self.broker), Term.unlimited(config.name)
        return build_pipeline(
            config, term=term, store=self.store, observer=Unseen(), sink=sink, history=self.history, **options
        )

    def run(self, **options: Any) -> None:
        """To the end of the log as it is when this begins, and of the snapshot."""
        pipeline = self.pipeline(**options)
        watch = threading.Timer(60, pipeline.drain)
        watch.start()
        pipeline.run(build_source(parse_task(self.data)).end_position())
        late = not watch.is_alive()
        watch.cancel()
        assert not late, f"no end: {self.store.load()}"

    def records(self, table: str) -> Iterator[Stored]:
        return (record for record in self.broker.records if record.topic.endswith(f".{table}"))

    def copied(self, table: str) -> Copied:
        return Copied(self.records(table))


@pytest.fixture(params=["mysql", "mariadb"])
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[Database, str]:
    """A server, and a database of its own."""
    monkeypatch.setenv("TEST_PASSWORD", "replicator")
    server: Database = request.getfixturevalue(request.param)
    shop: str = request.getfixturevalue("database" if request.param == "mysql" else "mariadb_database")
    return server, shop


def test_a_quiet_table(place: tuple[Database, str]) -> None:
    server, shop = place
    fill(server, f"{shop}.item", 2500)
    copy = Copy(server, "copy", [f"{shop}.*"], chunk_rows=1000)
    copy.run()
    assert copy.copied("item").operations == ["r"] * 2500
    assert copy.copied("item").rows == contents(server, f"{shop}.item")
    server.execute(f"INSERT INTO {shop}.item VALUES (2500, 1, 'behind')")
    copy.run()
    assert copy.copied("item").operations == [*["r"] * 2500, "c"]
    last = copy.store.load()
    assert last is not None and last.position.snapshot is not None
    progress = last.position.snapshot
    assert (progress.rows, progress.finished, progress.tables, progress.open) == (2500, 1, 1, None)
    assert progress.ended_ms >= progress.begun_ms > 0


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_table_that_changes_while_it_is_read(place: tuple[Database, str], seed: int) -> None:
    server, shop = place
    table = f"{shop}.item"
    fill(server, table, 8000)
    copy = Copy(server, "copy", [f"{shop}.*"], chunk_rows=100, max_rows_per_s=4000)
    with Changes(server, table, 8200, seed) as changes:
        copy.run()
    copy.run()
    assert changes.version > 100
    copied = copy.copied("item")
    assert copied.rows == contents(server, table)
    assert copied.backwards == []
    assert len(copied.read) == len(set(copied.read)) and 1000 < len(copied.read) <= 8200


def test_several_tables_in_order(place: tuple[Database, str]) -> None:
    """Empty ones, of one row, without a primary key, with keys of several columns and of texts."""
    server, shop = place
    server.execute(f"CREATE TABLE {shop}.a_empty (id INT PRIMARY KEY)")
    server.execute(f"CREATE TABLE {shop}.b_one (id INT PRIMARY KEY)")
    server.execute(f"INSERT INTO {shop}.b_one VALUES (7)")
    server.execute(f"CREATE TABLE {shop}.c_unique (id VARCHAR(20) NOT NULL, n INT, UNIQUE KEY (id))")
    server.execute(f"CREATE TABLE {shop}.d_two (id INT, part VARCHAR(10), PRIMARY KEY (part, id))")
    for number in range(300):
        server.execute(f"INSERT INTO {shop}.c_unique VALUES ('key {number % 17} {number}', {number})")
        server.execute(f"INSERT INTO {shop}.d_two VALUES ({number}, 'part{number % 7}')")
    copy = Copy(server, "copy", [f"{shop}.*"], chunk_rows=50)
    copy.run()
    topics = [record.topic.rpartition(".")[2] for record in copy.broker.records if record.topic.count(".") > 1]
    assert topics == sorted(topics)
    assert {name: topics.count(name) for name in set(topics)} == {"b_one": 1, "c_unique": 300, "d_two": 300}
    markers = [json.loads(record.value or b"")["source"]["snapshot"] for record in copy.broker.records[-601:]]
    assert markers[:4] == ["last_in_data_collection", "first_in_data_collection", "true", "true"]
    assert markers[-1] == "last"


@pytest.mark.parametrize("without_key", ["fail", "skip", "read"])
def test_a_table_without_a_key(place: tuple[Database, str], without_key: str) -> None:
    server, shop = place
    server.execute(f"CREATE TABLE {shop}.keyless (n INT)")
    server.execute(f"INSERT INTO {shop}.keyless VALUES (1), (2), (2), (NULL)")
    fill(server, f"{shop}.zebra", 10)
    copy = Copy(server, "copy", [f"{shop}.*"], without_key=without_key)
    if without_key == "fail":
        with pytest.raises(SourceError, match="E2221"):
            copy.run()
        return
    copy.run()
    read = [json.loads(record.value or b"")["after"]["n"] for record in copy.records("keyless")]
    assert sorted(read, key=str) == ([1, 2, 2, None] if without_key == "read" else [])
    assert len(copy.copied("zebra").rows) == 10


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ({"format": "maxwell"}, ["bootstrap-start", *["bootstrap-insert"] * 30, "bootstrap-complete"]),
        ({"format": "canal"}, ["INSERT"] * 30),
    ],
)
def test_other_formats(place: tuple[Database, str], records: dict[str, Any], expected: list[str]) -> None:
    server, shop = place
    fill(server, f"{shop}.item", 30)
    copy = Copy(server, "copy", [f"{shop}.*"])
    copy.data["sink"] |= records
    copy.run()
    found = [json.loads(record.value or b"") for record in copy.broker.records]
    rows = [(record["type"], row) for record in found for row in _listed(record["data"])]
    assert [kind for kind, _ in rows] == expected
    assert sorted(int(row["id"]) for _, row in rows if row) == list(range(30))


def _listed(data: Any) -> list[Any]:
    return data if isinstance(data, list) else [data]


def test_conditions_and_chosen_tables(place: tuple[Database, str]) -> None:
    server, shop = place
    fill(server, f"{shop}.item", 100)
    fill(server, f"{shop}.other", 100)
    copy = Copy(server, "copy", [f"{shop}.*"], tables=["*.item"], where={f"{shop}.item": "id % 10 = 3"})
    copy.run()
    server.execute(f"UPDATE {shop}.other SET version = 1 WHERE id = 5")
    copy.run()
    assert sorted(copy.copied("item").rows) == list(range(3, 100, 10))
    assert copy.copied("other").operations == ["u"]


def test_check_tells_what_it_would_read(place: tuple[Database, str]) -> None:
    server, shop = place
    fill(server, f"{shop}.item", 100)
    server.execute(f"CREATE TABLE {shop}.log (text VARCHAR(40))")
    config = parse_task(Copy(server, "copy", [f"{shop}.*"]).data)
    found = {finding.id: finding for finding in snapshot_checks.check(config)}
    assert found["source.snapshot"].found.startswith("2 tables, about ")
    assert found["source.snapshot_keys"].found == f"{shop}.item (id)"
    assert found["source.snapshot_without_key"].severity == "fail"
    assert f"{shop}.log" in found["source.snapshot_without_key"].found
    assert found["source.snapshot_privileges"].severity == "ok"


def test_a_table_in_quarantine_is_read_when_it_is_released(place: tuple[Database, str]) -> None:
    server, shop = place
    fill(server, f"{shop}.ill", 50)
    fill(server, f"{shop}.well", 50)
    copy = Copy(server, "copy", [f"{shop}.*"])
    copy.run(orders=put(Orders(), (), f"{shop}.ill", now_ms()))
    server.execute(f"UPDATE {shop}.ill SET version = 1 WHERE id = 7")
    copy.run(orders=put(Orders(), (), f"{shop}.ill", now_ms()))
    assert len(copy.copied("well").rows) == 50 and not copy.copied("ill").rows
    last = copy.store.load()
    assert last is not None and last.position.snapshot is not None
    assert last.position.snapshot.left == (f"{shop}.ill",) and not last.position.snapshot.ended_ms
    copy.run(orders=release(Orders(), last.quarantined, f"{shop}.ill", now_ms()))
    assert copy.copied("ill").rows == contents(server, f"{shop}.ill")
    last = copy.store.load()
    assert last is not None and last.position.snapshot is not None and last.position.snapshot.ended_ms


def test_texts_of_several_bytes_a_character(place: tuple[Database, str]) -> None:
    """The last byte of U+0420 is that of a space."""
    server, shop = place
    server.execute(
        f"CREATE TABLE {shop}.wide (id INT PRIMARY KEY, a CHAR(6) CHARACTER SET utf16, b CHAR(6) CHARACTER SET ucs2)"
    )
    server.execute(f"INSERT INTO {shop}.wide VALUES (1, '\u0421\u0421\u0421\u0420', '\u20ac\u0420'), (2, 'a ', ' b')")
    copy = Copy(server, "copy", [f"{shop}.*"])
    copy.run()
    server.execute(f"UPDATE {shop}.wide SET id = id + 10")
    copy.run()
    found: dict[str, dict[int, tuple[str, str]]] = {"r": {}, "c": {}}
    for record in copy.records("wide"):
        value = json.loads(record.value or b"null")
        if value is not None and value["op"] in found:
            row = value["after"]
            found[value["op"]][row["id"] % 10] = (row["a"], row["b"])
    assert found["r"] == found["c"] and found["r"][1] == ("\u0421\u0421\u0421\u0420", "\u20ac\u0420")
