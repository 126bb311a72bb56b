"""One suite over every store of schema histories."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from replicator.checkpoint.history import MemoryHistory
from replicator.checkpoint.sqlite import SqliteStore
from replicator.coordination.in_memory.coordinator import MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator, Node
from replicator.coordination.records import dump
from replicator.coordination.tasks.schema_nodes import SchemaNodes, SchemaPart
from replicator.errors import CoordinationError, LeadershipLost, ProcessError
from replicator.model.position import Position
from replicator.model.schema_history import SchemaRecord
from replicator.pipeline.ports import HistoryStore
from replicator.zookeeper.client import connect

Make = Callable[[], HistoryStore]
BASE = SchemaRecord("base", Position("binlog.000001", 4, "uuid:1-5"), data=b"\x00base")
DDL = SchemaRecord("ddl", Position("binlog.000001", 400, "uuid:1-7"), "uuid:8", "abcd", "ALTER TABLE ü", b"\xff\x00")
SET = SchemaRecord("set", Position("binlog.000002", 157), text="operator", data=b"set")
NEXT = SchemaRecord("base", Position("binlog.000002", 500), data=b"next")
TASK = "copy.items"
OWN = "host-" + "0" * 32 + "-0000000000"


class Nodes:
    """Coordinator sessions on one ensemble, with the contender node of RUNNING standing."""

    def __init__(self, coordinator: Coordinator, root: str) -> None:
        self.coordinator = coordinator
        self.layout = Layout(root)
        coordinator.create(self.layout.contender(TASK, OWN), parents=True)

    def store(self) -> SchemaNodes:
        return SchemaNodes(self.coordinator, self.layout, TASK, OWN)


@pytest.fixture
def memory_nodes() -> Nodes:
    return Nodes(MemoryEnsemble().session(), "/test")


@pytest.fixture(params=["memory", "sqlite", "memory nodes", pytest.param("zookeeper", marks=pytest.mark.servers)])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Makes the store; a second call gives the one that a restarted process would have."""
    if request.param == "memory":
        store = MemoryHistory()
        yield lambda: store
    elif request.param == "sqlite":
        opened: list[SqliteStore] = []

        def sqlite() -> HistoryStore:
            while opened:
                opened.pop().close()
            opened.append(SqliteStore(tmp_path / "task.sqlite", "task"))
            return opened[0].history

        yield sqlite
        while opened:
            opened.pop().close()
    elif request.param == "memory nodes":
        yield request.getfixturevalue("memory_nodes").store
    else:
        coordinator = connect(request.getfixturevalue("zookeeper").hosts, session_timeout=4.0)
        yield Nodes(coordinator, f"/conformance/{uuid.uuid4().hex}").store
        coordinator.close()


def test_nothing_is_stored_at_first(make: Make) -> None:
    assert list(make().load()) == []


def test_records_come_back_in_order_and_after_a_restart(make: Make) -> None:
    store = make()
    for record in (BASE, DDL, SET):
        store.append(record)
    assert list(store.load()) == list(make().load()) == [BASE, DDL, SET]


def test_a_base_takes_the_place_of_everything_before_it(make: Make) -> None:
    store = make()
    for record in (BASE, DDL, NEXT, SET):
        store.append(record)
    assert list(make().load()) == [NEXT, SET]


def test_a_record_larger_than_a_znode_comes_back_whole(make: Make) -> None:
    large = msgspec.structs.replace(BASE, data=os.urandom(2_500_000))
    store = make()
    store.append(DDL)
    store.append(large)
    store.append(DDL)
    assert list(make().load()) == [large, DDL]


def test_tasks_do_not_meet(tmp_path: Path) -> None:
    one = SqliteStore(tmp_path / "state.sqlite", "one")
    one.history.append(BASE)
    one.close()
    two = SqliteStore(tmp_path / "state.sqlite", "two")
    two.history.append(NEXT)
    assert list(two.history.load()) == [NEXT]
    two.close()
    one = SqliteStore(tmp_path / "state.sqlite", "one")
    assert list(one.history.load()) == [BASE]
    one.close()


def test_a_body_that_is_not_ours_is_refused(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "state.sqlite", "task")
    store._db.execute("INSERT INTO history (task, kind, body) VALUES ('task', 'base', 'garbage')")
    with pytest.raises(ProcessError, match="E5010"):
        store.history.load()
    store.close()


def test_parts_of_a_record_that_was_never_finished_do_not_count(memory_nodes: Nodes) -> None:
    store = memory_nodes.store()
    store.append(DDL)
    part = SchemaPart(group="crashed", index=0, count=2, kind="base", data=b"half of it")
    memory_nodes.coordinator.create(memory_nodes.layout.schema_prefix(TASK), dump(part), sequential=True)
    assert list(store.load()) == [DDL]
    store.append(NEXT)
    assert list(store.load()) == [NEXT]
    assert len(memory_nodes.coordinator.children(memory_nodes.layout.schema(TASK))) == 1


def test_without_our_own_node_nothing_is_written(memory_nodes: Nodes) -> None:
    store = memory_nodes.store()
    store.append(BASE)
    memory_nodes.coordinator.delete(memory_nodes.layout.contender(TASK, OWN))
    with pytest.raises(LeadershipLost):
        store.append(DDL)
    assert list(store.load()) == [BASE]


def test_a_part_that_is_not_ours_is_refused(memory_nodes: Nodes) -> None:
    store = memory_nodes.store()
    store.append(BASE)
    memory_nodes.coordinator.create(memory_nodes.layout.schema_prefix(TASK), b"garbage", sequential=True)
    with pytest.raises(CoordinationError, match="E4009"):
        store.load()


def test_who_reads_while_a_base_takes_the_place_of_all_reads_again(memory_nodes: Nodes) -> None:
    """A new term, or an operator's tool: without the base it would begin a history from the server's definitions."""
    for record in (BASE, DDL, SET):
        memory_nodes.store().append(record)
    meanwhile = [NEXT]

    class Compacted:
        def __getattr__(self, name: str) -> Any:
            return getattr(memory_nodes.coordinator, name)

        def get_many(self, paths: Sequence[str]) -> list[Node | None]:
            while meanwhile:
                memory_nodes.store().append(meanwhile.pop())
            return memory_nodes.coordinator.get_many(paths)

    reader = SchemaNodes(Compacted(), memory_nodes.layout, TASK, "")
    assert list(reader.load()) == [NEXT]
