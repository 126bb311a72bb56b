"""A Core and its workers obey the list of the cluster, from its change on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from core.protocol import OutgoingChanged
from replicator.coordination.in_memory.coordinator import MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.coordination.outgoing import OutgoingList
from replicator.coordination.tasks.registry import Registry
from replicator.net import connections
from tests.support.agents import FakeWorker, RunningAgent
from tests.support.present import present
from tests.support.waiting import eventually

LAYOUT = Layout()


@pytest.fixture(autouse=True)
def no_list() -> Iterator[None]:
    yield
    connections.set_cluster_list(None)


def heard(worker: FakeWorker) -> list[tuple[str, ...] | None]:
    return [message.entries for message in worker.told if isinstance(message, OutgoingChanged)]


def test_workers_begin_with_the_list_and_hear_of_each_change() -> None:
    ensemble = MemoryEnsemble()
    admin = ensemble.session()
    outgoing = OutgoingList(admin, LAYOUT)
    outgoing.write(["10.0.0.0/8"], "ann", "", None)
    agent = RunningAgent(ensemble.session(), LAYOUT, "a")
    try:
        agent.up()
        assert connections.cluster_list() == ("10.0.0.0/8",)
        Registry(admin, LAYOUT).create("t", {"name": "t"}, "ann")
        eventually(lambda: agent.launcher.of("t"))
        worker = present(agent.launcher.of("t"))
        assert worker.spec.outgoing == ("10.0.0.0/8",)
        outgoing.write(["none"], "ann", "", None)
        eventually(lambda: heard(worker) == [("none",)])
        assert connections.cluster_list() == ("none",)
        admin.set(LAYOUT.outgoing, b"?")
        eventually(lambda: heard(worker) == [("none",), ()])
        admin.delete(LAYOUT.outgoing)
        eventually(lambda: heard(worker) == [("none",), (), None])
        outgoing.write(["db1"], "ann", "", None)
        eventually(lambda: heard(worker)[3:] == [("db1",)])
        worker.die()
        eventually(lambda: len(agent.launcher.workers) == 2)
        assert agent.launcher.workers[1].spec.outgoing == ("db1",)
    finally:
        agent.stop()
