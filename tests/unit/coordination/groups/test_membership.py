"""Members of a group over the coordinator in memory: each places tasks from what it sees, and all come to the same."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from replicator.coordination.groups.drained import Drained
from replicator.coordination.groups.groups import Groups
from replicator.coordination.groups.membership import Membership
from replicator.coordination.groups.placement import loads, place
from replicator.coordination.groups.wishes import Wish, wish_of
from replicator.coordination.in_memory.coordinator import MemoryCoordinator, MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.coordination.machines.machines import Machines
from replicator.coordination.records import GroupRecord, MachineRecord
from replicator.coordination.tasks.registry import Registry
from replicator.errors import CoordinationError, NotConnected

GROUP = "blue"
LAYOUT = Layout()
HOSTS, TASKS = ("a", "b", "c"), ("t1", "t2", "t3", "t4")
CAPACITY = 6


class Member:
    """One Core of the group, without threads: turns are taken one by one."""

    def __init__(self, ensemble: MemoryEnsemble, host: str, capacity: int = CAPACITY) -> None:
        self.host = host
        self.coordinator: MemoryCoordinator = ensemble.session(1.0)
        self.woken = False
        self.part = Membership(self.coordinator, LAYOUT, GROUP, capacity, self._wake)
        record = MachineRecord(host=host, pid=1, process=host, started_ms=0, time_ms=0)
        Machines(self.coordinator, LAYOUT).publish(host, record)

    def _wake(self) -> None:
        self.woken = True

    def turn(self) -> None:
        try:
            self.part.turn(self.host, self.host)
        except NotConnected:
            return

    @property
    def hosts(self) -> dict[str, tuple[str, ...]]:
        return {task: self.part.candidacy(task).hosts for task in TASKS}


class Fleet(RuleBasedStateMachine):
    """Joins, deaths, cuts, views that are late, tasks that come, change and go, pins, drains."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.ensemble = MemoryEnsemble(lambda: self.now)
        self.admin = self.ensemble.session(1e9)
        self.groups, self.drained = Groups(self.admin, LAYOUT), Drained(self.admin, LAYOUT)
        self.registry = Registry(self.admin, LAYOUT)
        self.members: dict[str, Member] = {}

    @rule(host=st.sampled_from(HOSTS), capacity=st.integers(1, CAPACITY))
    def joins(self, host: str, capacity: int) -> None:
        if host not in self.members:
            self.members[host] = Member(self.ensemble, host, capacity)

    @rule(host=st.sampled_from(HOSTS))
    def dies(self, host: str) -> None:
        if host in self.members:
            self.members.pop(host).coordinator.close()

    @rule(host=st.sampled_from(HOSTS))
    def is_cut_off(self, host: str) -> None:
        if host in self.members:
            self.members[host].coordinator.suspend()

    @rule(host=st.sampled_from(HOSTS))
    def is_back(self, host: str) -> None:
        if host in self.members:
            self.members[host].coordinator.resume()

    @rule()
    def watches_are_late(self) -> None:
        self.ensemble.hold_watches()

    @rule(
        task=st.sampled_from(TASKS),
        group=st.sampled_from([GROUP, GROUP, "green", ""]),
        weight=st.integers(1, 4),
        standbys=st.integers(0, 1),
    )
    def is_configured(self, task: str, **keys: Any) -> None:
        self.registry.register(task, "test")
        self.registry.configure(task, {"name": task, **keys}, "test", self.registry.version(task))

    @rule(host=st.sampled_from(HOSTS), on=st.booleans())
    def drains(self, host: str, on: bool) -> None:
        self.drained.begin(host, "", "") if on else self.drained.end(host)

    @rule(task=st.sampled_from(TASKS), host=st.sampled_from(HOSTS))
    def is_pinned(self, task: str, host: str) -> None:
        node = self.groups.read(GROUP)
        if node.version >= 0:
            pins = {**node.record.pins, task: host}
            self.groups.write(GROUP, GroupRecord(placed=node.record.placed, pins=pins), node.version)

    @rule(host=st.sampled_from(HOSTS))
    def takes_a_turn(self, host: str) -> None:
        if host in self.members:
            self.members[host].turn()

    @invariant()
    def no_member_is_over_its_capacity(self) -> None:
        """As it was when the placement was written: a weight may have been raised since."""
        node = self.groups.read(GROUP)
        assert all(len(set(hosts)) == len(hosts) for hosts in node.record.placed.values())

    def teardown(self) -> None:
        """After all is said: every member sees the same, and it is what `place` gives, which changes nothing more."""
        self.ensemble.release_watches()
        for member in self.members.values():
            member.coordinator.resume()
        for _ in range(6):
            for member in self.members.values():
                member.turn()
        node = self.groups.read(GROUP)
        for member in self.members.values():
            assert member.hosts == {task: node.record.placed.get(task, ()) for task in TASKS}
        if self.members:
            drained = self.drained.list()
            wishes = {name: wish_of(self.registry.read(name).record.config) for name in self.registry.names()}
            members, demands = node.present(drained), node.demands(wishes)
            assert set(members) == set(self.members)
            assert place(members, demands, node.record.placed) == node.record.placed
            load = loads(demands, node.record.placed)
            assert all(load[host] <= members[host].capacity for host in load)


TestFleet = Fleet.TestCase
TestFleet.settings = settings(max_examples=150, stateful_step_count=30, deadline=None)


class World:
    def __init__(self) -> None:
        self.ensemble = MemoryEnsemble()
        self.admin = self.ensemble.session()
        self.registry = Registry(self.admin, LAYOUT)
        self.groups = Groups(self.admin, LAYOUT)

    def add(self, *names: str, **keys: Any) -> None:
        for name in names:
            self.registry.create(name, {"name": name, "group": GROUP, "standbys": 0, **keys}, "test")

    def placed(self) -> dict[str, tuple[str, ...]]:
        return self.groups.read(GROUP).record.placed


@pytest.fixture
def world() -> World:
    return World()


def test_end_of_a_session_is_proven(world):
    a, b = Member(world.ensemble, "a"), Member(world.ensemble, "b")
    for member in (a, b, b):
        member.turn()
    session = a.coordinator.session_id
    a.coordinator.close()
    b.turn()
    assert b.part.candidacy("t").ended == {session}


def test_member_node_that_is_deleted_proves_nothing(world):
    a, b = Member(world.ensemble, "a"), Member(world.ensemble, "b")
    for member in (a, b, b):
        member.turn()
    world.admin.delete(LAYOUT.member(GROUP, "a"))
    b.turn()
    assert b.part.candidacy("t").ended == frozenset()


def test_two_ends_at_once_prove_nothing(world):
    """A reading that has missed one of two changes can't say which session ended with which transaction."""
    a, b, c = (Member(world.ensemble, host) for host in "abc")
    for member in (a, b, c, c):
        member.turn()
    world.admin.delete(LAYOUT.member(GROUP, "a"))
    b.coordinator.close()
    c.turn()
    assert c.part.candidacy("t").ended == frozenset()


def test_core_that_is_started_on_a_drained_host_takes_nothing(world):
    """Not what the process before it kept either, for want of another Core."""
    world.add("t")
    a = Member(world.ensemble, "a")
    a.turn()
    Drained(world.admin, LAYOUT).begin("a", "", "")
    a.turn()
    assert a.part.candidacy("t").own
    a.coordinator.close()
    again = Member(world.ensemble, "a")
    again.turn()
    assert not again.part.candidacy("t").own and not again.part.tasks
    again.turn()
    assert world.placed() == {}
    Drained(world.admin, LAYOUT).end("a")
    again.turn()
    assert again.part.candidacy("t").own


def test_end_of_another_session_in_the_same_reading_proves_nothing(world):
    """One member is missed, and the last change was the end of a session: of one that was never seen."""
    a, b = Member(world.ensemble, "a"), Member(world.ensemble, "b")
    for member in (a, b, b):
        member.turn()
    world.admin.delete(LAYOUT.member(GROUP, "a"))
    unseen = Member(world.ensemble, "c")
    unseen.turn()
    unseen.coordinator.close()
    b.turn()
    assert b.part.candidacy("t").ended == frozenset()


def test_member_whose_server_is_behind_takes_nothing_away(world, monkeypatch):
    """It does not see a member that is there: a read that has caught up with the leader comes before the write."""
    world.add("t")
    a, b = Member(world.ensemble, "a"), Member(world.ensemble, "b")
    a.turn()
    assert world.placed() == {"t": ("a",)}
    listing = b.coordinator.listing

    def behind(path: str, watch: Any = None) -> Any:
        found = listing(path, watch)
        if path == LAYOUT.members(GROUP):
            return type(found)(tuple(name for name in found.names if name != "a"), found.stat)
        return found

    monkeypatch.setattr(b.coordinator, "listing", behind)
    for _ in range(3):
        b.turn()
    assert world.placed() == {"t": ("a",)}
    assert b.woken


def test_group_that_can_not_be_read_keeps_the_last_placement(world):
    world.add("t")
    a = Member(world.ensemble, "a")
    a.turn()
    world.admin.set(LAYOUT.group(GROUP), b"nonsense")
    with pytest.raises(CoordinationError, match="E4009"):
        a.part.turn("a", "a")
    assert a.part.candidacy("t").own


def test_name_that_another_session_has_is_no_member(world):
    world.add("t")
    a, other = Member(world.ensemble, "a"), Member(world.ensemble, "b")
    a.turn()
    other.host = "a"
    other.turn()
    assert not other.part.candidacy("t").own and a.part.candidacy("t").own


def test_group_has_thousands_of_tasks(world):
    record = GroupRecord(placed={f"task-of-shop-{number}": ("core-a", "core-b") for number in range(5000)})
    world.groups.create(GROUP)
    world.groups.write(GROUP, record, 0)
    node = world.admin.get(LAYOUT.group(GROUP))
    assert len(node.data) < 100_000
    assert world.groups.read(GROUP).record == record


@pytest.mark.parametrize("value", [None, "7", -1, 1.5, [], True])
def test_wish_of_an_odd_configuration(value: object) -> None:
    found = wish_of({"group": value, "weight": value, "standbys": value})
    assert isinstance(found.group, str) and found.weight >= 1 and found.standbys >= 0


def test_wish() -> None:
    assert wish_of({"group": "blue", "weight": 3, "standbys": 0}) == Wish("blue", 3, 0)
    assert wish_of(None) == Wish()
