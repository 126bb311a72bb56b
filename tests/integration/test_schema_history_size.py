"""The schema history stays small, and a long one that an older version has left is read and made small."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Iterator

import msgspec
import pytest

from dev.servers import Database, ZooKeeper
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Create
from replicator.coordination.records import dump
from replicator.coordination.tasks.schema_nodes import SchemaNodes, SchemaPart
from replicator.model.position import Position
from replicator.model.schema_history import SchemaRecord
from replicator.schema import history
from replicator.schema.ddl_effects import Effects
from replicator.schema.history import COMPACT, History, base
from replicator.schema.record_codec import pack
from replicator.schema.server_schema import ServerSchema
from replicator.zookeeper.client import ZookeeperCoordinator, connect
from tests.servers import new_database
from tests.support.in_memory import Task
from tests.support.settings import set_global

RECORDS = 30_000
OWN = "host-" + "0" * 32 + "-0000000000"


@pytest.fixture(params=["mysql", "mariadb"])
def server(request: pytest.FixtureRequest) -> Database:
    found: Database = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def name(server: Database) -> Iterator[str]:
    with new_database(server) as found:
        yield found


@pytest.mark.parametrize("metadata", ["FULL", "MINIMAL"])
def test_a_session_with_many_statements_makes_them_small_and_loses_no_row(
    server: Database, name: str, metadata: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One after another, and with a start behind all of them, where the definitions are those of the end."""
    monkeypatch.setenv("TEST_PASSWORD", "replicator")
    monkeypatch.setattr(history, "COMPACT", 5)
    with set_global(server, "binlog_row_metadata", f"'{metadata}'"):
        file, offset = server.end_of_log()
        server.execute(f"CREATE TABLE {name}.t (id INT PRIMARY KEY, c0 INT)")
        for number in range(1, 41):
            server.execute(f"ALTER TABLE {name}.t RENAME COLUMN c{number - 1} TO c{number}")
            server.execute(f"INSERT INTO {name}.t VALUES ({number}, {number})")
        task = Task(server, f"size_{name}", [f"{name}.*"], Position(file, offset), None)
        task.run()
    assert task.rows("t") == list(range(1, 41))
    for record in task.broker.records:
        if record.topic.endswith(".t"):
            after = msgspec.json.decode(record.value or b"")["after"]
            assert f"c{after['id']}" in after
    assert len(task.history.records) <= 2 * 5 + 1


@pytest.fixture
def coordinator(zookeeper: ZooKeeper) -> Iterator[ZookeeperCoordinator]:
    found = connect(zookeeper.hosts, session_timeout=10)
    yield found
    found.close()


def test_a_history_of_30_000_records_is_read_in_time_and_made_small(coordinator: ZookeeperCoordinator) -> None:
    layout, task = Layout(f"/long/{uuid.uuid4().hex}"), "copy"
    coordinator.create(layout.contender(task, OWN), parents=True)
    store = SchemaNodes(coordinator, layout, task, OWN)
    store.append(base(ServerSchema(mariadb=False), Position("b.1", 4)))
    for first in range(0, RECORDS, 1000):
        coordinator.multi(
            [Create(layout.schema_prefix(task), ddl(number), sequential=True) for number in range(first, first + 1000)]
        )
    session, began = coordinator.session_id, time.monotonic()
    records = store.load()
    loaded = time.monotonic() - began
    assert len(records) == RECORDS + 1
    assert loaded < 60, "a worker waits 60 s for the answer"
    state = History(store, mariadb=False).state(Position("b.1", 100 * RECORDS + 200))
    assert list(state.schema.names()) == [("d", f"t{number}") for number in range(10)]
    assert len(coordinator.children(layout.schema(task))) == 1
    assert coordinator.session_id == session, "no request was so large that the server closed the connection"
    again = History(store, mariadb=False).state(Position("b.1", 100 * RECORDS + 200))
    assert again.schema.snapshot() == state.schema.snapshot()


def ddl(number: int) -> bytes:
    """The part that one statement made."""
    effects = Effects((("d", f"t{number % 10}", b"%d" % number),))
    position = Position("b.1", 100 * number + 100)
    record = SchemaRecord("ddl", position, digest=f"{number:016d}", text="ALTER", data=pack(effects, folded=False))
    raw = msgspec.msgpack.encode(record)
    return dump(SchemaPart(group=uuid.uuid4().hex, index=0, count=1, kind="ddl", data=raw))


@pytest.mark.parametrize("left", [1, 300, COMPACT + 2])
def test_what_a_crash_during_compaction_leaves_is_read_rightly(coordinator: ZookeeperCoordinator, left: int) -> None:
    """The base stands; of what was before it some was deleted, oldest first."""
    layout, task = Layout(f"/crashed/{uuid.uuid4().hex}"), "copy"
    coordinator.create(layout.contender(task, OWN), parents=True)
    store = SchemaNodes(coordinator, layout, task, OWN)
    store.append(base(ServerSchema(mariadb=False), Position("b.1", 4)))
    for number in range(COMPACT + 1):
        coordinator.create(layout.schema_prefix(task), ddl(number), sequential=True)
    names = coordinator.children(layout.schema(task))
    end = Position("b.1", 10_000_000)
    before = as_of(store, end)
    schema = ServerSchema(mariadb=False)
    schema.take(before)
    whole = dump(part := SchemaPart(group="new", index=0, count=1, kind="base", data=b""))
    raw = msgspec.msgpack.encode(base(schema, end))
    half = dump(msgspec.structs.replace(part, count=2, data=raw[:10]))
    coordinator.create(layout.schema_prefix(task), half, sequential=True)
    assert as_of(store, end) == before, "a base of which half is written does not count"
    whole = dump(msgspec.structs.replace(part, group="newer", data=raw))
    coordinator.create(layout.schema_prefix(task), whole, sequential=True)
    for name in names[: len(names) - left]:
        with contextlib.suppress(Exception):
            coordinator.delete(f"{layout.schema(task)}/{name}")
    assert as_of(store, end) == before
    store.append(base(schema, end))
    assert len(coordinator.children(layout.schema(task))) == 1


def as_of(store: SchemaNodes, position: Position) -> Effects:
    """Without making it small."""
    found = History(_Kept(store), mariadb=False).state(position)
    return found.schema.snapshot()


class _Kept:
    def __init__(self, store: SchemaNodes) -> None:
        self.load = store.load

    def append(self, record: SchemaRecord) -> None:
        assert record.kind != "read"
