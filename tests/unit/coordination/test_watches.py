"""One watch per path at a time, and none forgotten."""

from __future__ import annotations

import pytest

from replicator.coordination.in_memory.coordinator import MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.coordination.tasks.commands import Commands
from replicator.coordination.tasks.registry import Registry
from replicator.coordination.tasks.status import Status
from replicator.coordination.watches import Watches
from replicator.errors import NodeMissing, NotConnected


@pytest.fixture
def wakes() -> list[int]:
    return []


@pytest.fixture
def watches(wakes: list[int]) -> Watches:
    return Watches(lambda: wakes.append(1))


def test_one_at_a_time_and_another_when_it_fired(watches, wakes):
    with watches.on("data", "/a") as first:
        assert first is not None
    with watches.on("data", "/a") as second:
        assert second is None
    with watches.on("children", "/a") as other:
        assert other is not None
    first("changed", "/a")
    assert wakes == [1]
    with watches.on("data", "/a") as third:
        assert third is not None


def test_fired_late_and_twice(watches, wakes):
    with watches.on("data", "/a") as first:
        pass
    first("changed", "/a")
    first("changed", "/a")
    watches.clear()
    first("session", "/a")
    assert wakes == [1, 1, 1]
    with watches.on("data", "/a") as again:
        assert again is not None


@pytest.mark.parametrize("error", [NotConnected("E4002", "x"), NodeMissing("E4004", "x")])
def test_a_reading_that_failed_left_no_watch(watches, error):
    with pytest.raises(type(error)), watches.on("data", "/a"):
        raise error
    with watches.on("data", "/a") as again:
        assert again is not None


def test_nodes_that_are_not_there_yet_are_waited_for(watches, wakes):
    zk, layout = MemoryEnsemble().session(), Layout()
    Registry(zk, layout).create("copy", {}, "me")
    zk.delete(layout.status("copy"))
    zk.delete(layout.commands("copy"))
    with watches.on("data", layout.status("copy")) as watch:
        Status(zk, layout).find("copy", watch)
    with watches.on("children", layout.commands("copy")) as watch:
        Commands(zk, layout).pending("copy", watch)
    Status(zk, layout).set("copy", "paused", "me")
    assert len(wakes) == 1
    Commands(zk, layout).submit("copy", "retry")
    assert len(wakes) == 2


def test_a_lost_session_takes_all(watches):
    with watches.on("data", "/a"):
        pass
    watches.clear()
    with watches.on("data", "/a") as again:
        assert again is not None
