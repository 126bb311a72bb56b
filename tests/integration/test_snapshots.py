"""Snapshots on real servers: rows from before a task, beside a stream that changes them."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dev.cluster import wait_for
from dev.servers.database import Database, MariaDB, MySQL
from replicator.assembly import snapshot_checks
from replicator.assembly.pipeline import build_pipeline, build_source
from replicator.assembly.snapshots import open_snapshot_source
from replicator.checkpoint.history import MemoryHistory
from replicator.checkpoint.memory_store import MemoryStore
from replicator.config.load import parse_task
from replicator.coordination.clock import now_ms
from replicator.errors import SourceError
from replicator.model.quarantine import TaskOrders
from replicator.model.quarantine_orders import put, release
from replicator.model.term import Term
from replicator.pipeline.pipeline import Pipeline
from replicator.sink.memory_sink import MemoryBroker, MemorySink, Stored
from tests.support.binlogs import purge_all_but_last
from tests.support.changes import Changes, Copied, contents, fill
from tests.support.in_memory import Unseen
from tests.support.present import present

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

    def run_a_part(self) -> None:
        """Until there are more than 300 records."""
        pipeline = self.pipeline()
        run = threading.Thread(target=pipeline.run)
        run.start()
        wait_for(lambda: len(self.broker.records) > 300, "some of the rows", 30, every=0.05)
        pipeline.drain()
        run.join()

    def run(self, **options: Any) -> None:
        """To the end of the log as it is when this begins, and of the snapshot."""
        pipeline = self.pipeline(**options)
        watch = threading.Timer(100, pipeline.drain)
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
    copy = Copy(server, "copy", [f"{shop}.*"], chunk_rows=1000, marker_topic="{task}.done")
    copy.run()
    assert copy.copied("item").operations == ["r"] * 2500
    marker, done = json.loads(copy.broker.records[-1].value or b""), present(copy.store.load()).position
    taken = present(done.snapshot)
    assert (copy.broker.records[-1].topic, marker["type"]) == ("copy.done", "COMPLETED")
    assert marker["additional_data"]["position"] == taken.consistent_since == f"{done.file}:{taken.end_offset}"
    assert (marker["additional_data"]["rows"], marker["timestamp"]) == ("2500", taken.ended_ms)
    assert copy.copied("item").rows == contents(server, f"{shop}.item")
    server.execute(f"INSERT INTO {shop}.item VALUES (2500, 1, 'behind')")
    copy.run()
    assert copy.copied("item").operations == [*["r"] * 2500, "c"]
    last = copy.store.load()
    assert last is not None and last.position.snapshot is not None
    progress = last.position.snapshot
    assert (progress.rows, progress.finished, progress.tables, progress.open) == (2500, 1, 1, None)
    assert progress.ended_ms >= progress.begun_ms > 0


@pytest.mark.parametrize(("seed", "connections"), [(1, 1), (2, 1), (3, 4), (4, 4), (5, 16)])
def test_a_table_that_changes_while_it_is_read(place: tuple[Database, str], seed: int, connections: int) -> None:
    server, shop = place
    table = f"{shop}.item"
    fill(server, table, 8000)
    copy = Copy(server, "copy", [f"{shop}.*"], chunk_rows=100, max_rows_per_s=4000, connections=connections)
    with Changes(server, table, 8200, seed) as changes:
        copy.run()
    copy.run()
    assert changes.version > 100
    copied = copy.copied("item")
    assert copied.rows == contents(server, table)
    assert copied.backwards == []
    assert len(copied.read) == len(set(copied.read)) and 1000 < len(copied.read) <= 8200


def test_several_connections_read_at_the_same_time(place: tuple[Database, str]) -> None:
    """Rows still come in the order of the key, and the last ones of a table before the first ones of the next."""
    server, shop = place
    fill(server, f"{shop}.item", 6000)
    fill(server, f"{shop}.zebra", 700)
    copy = Copy(server, "copy", [f"{shop}.*"], chunk_rows=200, connections=4)
    copy.run()
    assert copy.copied("item").read == list(range(6000)) and copy.copied("zebra").read == list(range(700))
    tables = [record.topic.rpartition(".")[2] for record in copy.broker.records if record.topic.count(".") > 1]
    assert tables == ["item"] * 6000 + ["zebra"] * 700


@pytest.mark.parametrize("connections", [1, 4])
def test_a_condition_that_wants_one_row(place: tuple[Database, str], connections: int) -> None:
    """The progress moves on while no row is found."""
    server, shop = place
    fill(server, f"{shop}.item", 5000)
    where = {f"{shop}.item": "text = 'before' AND id = 4321"}
    copy = Copy(server, "copy", [f"{shop}.*"], chunk_rows=500, where=where, connections=connections)
    copy.run()
    assert copy.copied("item").read == [4321]


@pytest.mark.parametrize("connections", [1, 4])
def test_several_tables_in_order(place: tuple[Database, str], connections: int) -> None:
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
    copy = Copy(server, "copy", [f"{shop}.*"], chunk_rows=50, connections=connections)
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


@pytest.mark.parametrize("consistent", [False, True])
def test_tables_that_are_mistyped_are_told(place: tuple[Database, str], consistent: bool) -> None:
    """They may be created later, so nothing is refused; the rows that exist come."""
    server, shop = place
    fill(server, f"{shop}.item", 30)
    fill(server, f"{shop}.other", 30)
    wanted = {"tables": [f"{shop}.itm*", f"{shop}.item"], "where": {f"{shop}.itme": "id < 10", f"{shop}.other": "1"}}
    copy = Copy(server, "copy", [f"{shop}.*"], consistent=consistent, **wanted)
    if consistent:
        server.execute(f"GRANT RELOAD ON *.* TO {server.replicator[0]}@'%'")
    copy.run()
    taken = present(present(copy.store.load()).position.snapshot)
    assert taken.absent == (f"{shop}.itm* (tables)", f"{shop}.itme (where)", f"{shop}.other (where)")
    assert copy.copied("item").read == list(range(30)) and not copy.copied("other").read


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
    copy.run(orders=put(TaskOrders(), (), f"{shop}.ill", now_ms()))
    server.execute(f"UPDATE {shop}.ill SET version = 1 WHERE id = 7")
    copy.run(orders=put(TaskOrders(), (), f"{shop}.ill", now_ms()))
    assert len(copy.copied("well").rows) == 50 and not copy.copied("ill").rows
    last = copy.store.load()
    assert last is not None and last.position.snapshot is not None
    assert last.position.snapshot.left == (f"{shop}.ill",) and not last.position.snapshot.ended_ms
    copy.run(orders=release(TaskOrders(), last.quarantined, f"{shop}.ill", now_ms()))
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


def purge(server: Database) -> None:
    """Behind a change that nobody has read."""
    server.execute("CREATE DATABASE IF NOT EXISTS passed_unread")
    purge_all_but_last(server)


def test_a_position_that_is_purged_while_nobody_reads(place: tuple[Database, str]) -> None:
    """With `initial` the task stops; an operator who then chooses `when_needed` gets every row."""
    server, shop = place
    table = f"{shop}.item"
    fill(server, table, 50)
    copy = Copy(server, "copy", [f"{shop}.*"])
    copy.run()
    server.execute(f"UPDATE {table} SET version = 1 WHERE id < 10")
    server.execute(f"DELETE FROM {table} WHERE id = 49")
    server.execute(f"INSERT INTO {table} VALUES (50, 2, 'unread')")
    server.execute(f"ALTER TABLE {table} ADD COLUMN more INT DEFAULT 7")
    purge(server)
    with pytest.raises(SourceError, match=r"E2206.*when_needed"):
        copy.run()
    copy.data["source"]["snapshot"]["mode"] = "when_needed"
    copy.run()
    copied = copy.copied("item")
    assert copied.operations == ["r"] * 100
    wanted = contents(server, table)
    assert {key: row for key, row in copied.rows.items() if key != 49} == {
        key: {**row, "more": 7} for key, row in wanted.items()
    }
    assert 49 in copied.rows, "the deletion is not in any log"
    last = copy.store.load()
    assert last is not None and last.position.snapshot is not None
    assert (last.position.reset, last.position.snapshot.id) == (1, "needed-1")
    assert last.position.snapshot.reason.startswith("E2206 ") and last.position.snapshot.ended_ms
    server.execute(f"UPDATE {table} SET version = 3 WHERE id = 50")
    copy.run()
    assert copy.copied("item").operations == [*["r"] * 100, "u"], "and no other snapshot"


def test_a_position_that_is_purged_in_the_middle_of_a_snapshot(place: tuple[Database, str]) -> None:
    server, shop = place
    fill(server, f"{shop}.item", 3000)
    copy = Copy(server, "copy", [f"{shop}.*"], mode="when_needed", chunk_rows=100, max_rows_per_s=2000)
    copy.run_a_part()
    part = copy.copied("item").read
    assert 200 < len(part) < 3000
    server.execute(f"UPDATE {shop}.item SET version = 1")
    purge(server)
    copy.data["source"]["snapshot"]["max_rows_per_s"] = None
    copy.run()
    copied = copy.copied("item")
    assert copied.rows == contents(server, f"{shop}.item")
    assert copied.read[len(part) :] == list(range(3000)), "once each, from the beginning"


def test_a_binlog_that_was_reset(
    make_mysql: Callable[[], MySQL], make_mariadb: Callable[[], MariaDB], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server's UUID proves that it is the same one; a server_id does not."""
    monkeypatch.setenv("TEST_PASSWORD", "replicator")
    for make, statement in ((make_mysql, "RESET BINARY LOGS AND GTIDS"), (make_mariadb, "RESET MASTER")):
        server: Database = make()
        server.execute("CREATE DATABASE shop")
        fill(server, "shop.item", 20)
        copy = Copy(server, "copy", ["shop.*"], mode="when_needed")
        copy.run()
        time.sleep(1.1)  # files are told apart by the second
        server.execute(statement)
        server.execute("UPDATE shop.item SET version = 1")
        for _ in range(5):  # the end that `run` waits for is behind the old position
            server.execute("FLUSH BINARY LOGS")
        if isinstance(server, MariaDB):
            with pytest.raises(SourceError, match="E2218"):
                copy.run()
            continue
        copy.run()
        assert copy.copied("item").operations == ["r"] * 40
        assert copy.copied("item").rows == contents(server, "shop.item")


def test_two_tables_of_one_name_are_refused(place: tuple[Database, str]) -> None:
    """Else one of them would be read twice, and the other never."""
    server, shop = place
    server.execute(f"CREATE TABLE {shop}.`b.c` (id INT PRIMARY KEY)")
    server.execute(f"CREATE DATABASE `{shop}.b`")
    try:
        server.execute(f"CREATE TABLE `{shop}.b`.c (id INT PRIMARY KEY)")
        with pytest.raises(SourceError, match=r"E2223.*`b\.c`"):
            Copy(server, "copy", [f"{shop}*.*"]).run()
        Copy(server, "copy", [f"{shop}.*"]).run()
    finally:
        server.execute(f"DROP DATABASE `{shop}.b`")


def test_an_order_that_changes_in_the_middle(place: tuple[Database, str]) -> None:
    """The snapshot keeps its own: by name, `a` would be behind it already."""
    server, shop = place
    fill(server, f"{shop}.a", 10)
    fill(server, f"{shop}.c", 3000)
    copy = Copy(server, "copy", [f"{shop}.*"], order=["*.c"], chunk_rows=100, max_rows_per_s=2000)
    copy.run_a_part()
    assert not copy.copied("a").read and 200 < len(copy.copied("c").read) < 3000
    copy.data["source"]["snapshot"] |= {"order": [], "max_rows_per_s": None}
    copy.run()
    assert copy.copied("c").read == list(range(3000)) and copy.copied("a").read == list(range(10))


def test_streams_do_not_count_as_load(place: tuple[Database, str]) -> None:
    """Servers count each replica as a thread that runs: a snapshot with a low max_load would wait for ever."""
    server, shop = place
    config = parse_task(Copy(server, "copy", [f"{shop}.*"]).data)
    source = build_source(config)
    reader = open_snapshot_source(config, {}).open("")
    alone = min(reader.load(0) for _ in range(20))
    stream = source.open(source.end_position())
    try:
        stream.read(0.5)
        assert min(reader.load(1000) for _ in range(20)) == alone + 1, "as the server counts it"
        assert min(reader.load(0) for _ in range(20)) == alone
    finally:
        stream.close()
        reader.close()
