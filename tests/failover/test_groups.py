"""Groups of Cores under faults: the first two with real processes and servers under load, the others in memory."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest

from dev.cluster import wait_for
from replicator.coordination.groups.groups import Groups
from tests.failover.bus import Bus
from tests.support.group_site import GROUP, GroupSite, coordinator, spread
from tests.support.waiting import eventually

MakeBus = Callable[..., Bus]
_PART = ("--group", GROUP, "--capacity", "10")


@pytest.fixture
def site() -> Iterator[GroupSite]:
    site = GroupSite()
    yield site
    site.close()


def members(bus: Bus) -> set[str]:
    return set(Groups(bus.coordinator, bus.layout).read(GROUP).members)


@pytest.mark.servers
@pytest.mark.timeout(180)
def test_130_cold_standby_takes_over_from_a_killed_core(make_bus: MakeBus) -> None:
    bus = make_bus("host-a", part=_PART, settings={"group": GROUP, "standbys": 0})
    bus.cluster.core("host-b", *_PART)
    wait_for(lambda: members(bus) == {"host-a", "host-b"}, "both in the group", 40)
    assert len(bus.look().instances) == 1
    bus.cluster.cores["host-a"].kill()
    bus.wait_running(other_than="host-a")
    bus.wait_delivered(50)
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)
    assert bus.takeover_gap() < bus.session_seconds + 10


@pytest.mark.servers
@pytest.mark.timeout(180)
def test_134_drain_goes_on_after_the_core_was_killed(make_bus: MakeBus) -> None:
    """The only Core of its group is drained and can hand over to nobody. It is killed and started again: it takes
    nothing, until another one joins, which gets the task."""
    bus = make_bus("host-a", part=_PART, settings={"group": GROUP, "standbys": 0})
    bus.cluster.cli("machine", "drain", "host-a", "--no-wait")
    bus.wait_delivered(30)
    assert bus.look().host == "host-a"
    bus.cluster.cores["host-a"].kill()
    bus.cluster.core("host-a", *_PART)
    wait_for(lambda: bus.look().state == "absent", "nobody leads", 40)
    bus.cluster.core("host-b", *_PART)
    assert bus.wait_running().host == "host-b"
    bus.cluster.cli("machine", "undrain", "host-a")
    bus.cluster.cli("task", "move", bus.name, "--to", "host-a")
    wait_for(lambda: bus.look().host == "host-a" and bus.look().state == "running", "moved", 40)
    bus.wait_delivered(50)
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)


def test_133_partition_between_cores_takes_nothing_from_those_that_are_there(site):
    """Half of the Cores lose ZooKeeper, and come back in time or too late: no task runs twice at any moment."""
    names = [f"t{number}" for number in range(4)]
    site.add(*names)
    a, b = site.core("a"), site.core("b")
    site.until(spread, *names)
    before = site.where(*names)
    for _ in range(3):
        coordinator(a).suspend()
        site.add(f"later{_}")
        coordinator(a).resume()
    site.until(spread, *names)
    assert site.where(*names) == before
    site.kill(a)
    site.until(lambda found: set(found.values()) == {"b"}, *names)
    for one, other in itertools.product(a.launcher.workers, b.launcher.workers):
        assert one.spec.task != other.spec.task or not (one.may_emit and other.may_emit)
    coordinator(a).hear()
    eventually(lambda: set(site.groups.read(GROUP).members) == {"a", "b"})
    assert set(site.where(*names).values()) == {"b"}
    assert not any(worker.may_emit for worker in a.launcher.workers if worker.spec.task in names)


def test_130_a_cold_standby_takes_over_without_waiting_for_a_lease(site):
    site.add("t")
    a = site.core("a")
    site.worker(a, "t").deliver(7)
    eventually(lambda: (c := site.task("t").checkpoint) and c.position.offset == 7)
    b = site.core("b")
    eventually(lambda: len(site.groups.read(GROUP).members) == 2)
    site.kill(a)
    site.wait("b", name="t")
    assert site.worker(b, "t").offset == 7
    lost = [entry.record for entry in site.history.read("t") if entry.record.kind == "lost"]
    assert "its session ended" in lost[-1].reason


def test_131_core_of_full_group_dies(site):
    """Its tasks run again as far as there is room, the others when it is back."""
    site.add("t1", "t2", "t3", "t4", weight=5)
    a, _ = site.core("a"), site.core("b")
    found = site.until(spread, "t1", "t2", "t3", "t4")
    assert sorted(found.values()) == ["a", "a", "b", "b"]
    site.add("t5", weight=4)
    site.kill(a)
    eventually(lambda: sorted(site.placed()) == sorted(name for name, host in found.items() if host == "b"))
    site.core("c")
    after = site.until(spread, *found)
    assert all(after[name] == host for name, host in found.items() if host == "b")


def test_132_group_without_room_keeps_what_runs(site):
    """A weight that is raised beyond all room leaves the task where it runs, and places no other."""
    site.add("t")
    site.core("a", capacity=5)
    site.until(spread, "t")
    site.change("t", weight=6)
    eventually(lambda: site.placed() == {})
    worker = site.worker(site.agents[0], "t")
    site.core("b", capacity=6)
    site.wait("b", name="t")
    assert worker.drained


def test_134_drain_survives_the_core(site):
    """The wish is in ZooKeeper: a Core that comes back in the middle gets nothing."""
    site.add("t1", "t2")
    a = site.core("a")
    site.until(spread, "t1", "t2")
    site.drained.begin("a", "test", "")
    site.kill(a)
    again = site.core("a2")
    site.until(lambda found: set(found.values()) == {"a2"}, "t1", "t2")
    site.drained.begin("a2", "test", "")
    site.core("b")
    site.until(lambda found: set(found.values()) == {"b"}, "t1", "t2")
    assert again.launcher.of("t1") is None
