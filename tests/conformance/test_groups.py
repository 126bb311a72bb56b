"""Groups of Cores over both coordinators: members, placement, drains, the proof that a session has ended."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest

from replicator.coordination.groups.drained import Drained
from replicator.coordination.groups.groups import Groups
from replicator.coordination.groups.membership import Membership
from replicator.coordination.layout import Layout
from replicator.coordination.machines.machines import Machines
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import GroupRecord, MachineRecord
from replicator.coordination.tasks.registry import Registry
from replicator.errors import VersionConflict
from tests.support.waiting import eventually

Session = Callable[[], Coordinator]
GROUP = "a group/with ~ odd name"


class Member:
    def __init__(self, session: Session, layout: Layout, host: str) -> None:
        self.host, self.coordinator = host, session()
        self.woken = 0
        self.part = Membership(self.coordinator, layout, GROUP, 10, self._wake)
        record = MachineRecord(host=host, pid=1, process=host, started_ms=0, time_ms=0)
        Machines(self.coordinator, layout).publish(host, record)

    def _wake(self) -> None:
        self.woken += 1

    def turn(self) -> None:
        self.part.turn(self.host, self.host)

    def hosts(self, task: str) -> tuple[str, ...]:
        self.turn()
        return self.part.candidacy(task).hosts


@pytest.fixture
def layout() -> Layout:
    return Layout(f"/groups-{uuid.uuid4().hex}")


def test_group_over_its_life(session: Session, layout: Layout) -> None:
    admin = session()
    registry, groups, drained = Registry(admin, layout), Groups(admin, layout), Drained(admin, layout)
    registry.create("t", {"name": "t", "group": GROUP, "standbys": 0}, "test")
    a = Member(session, layout, "a")
    assert a.hosts("t") == ("a",)
    b = Member(session, layout, "b")
    assert b.hosts("t") == ("a",)
    assert groups.names() == [GROUP] and set(groups.read(GROUP).members) == {"a", "b"}

    woken = b.woken
    drained.begin("a", "me", "why")
    eventually(lambda: b.woken > woken)
    eventually(lambda: b.hosts("t") == ("b",))
    eventually(lambda: a.hosts("t") == ("b",))
    assert drained.list()["a"].reason == "why" and not drained.begin("a", "", "")

    woken = b.woken
    registry.configure("t", {"name": "t", "group": GROUP, "standbys": 1}, "test", 0)
    eventually(lambda: b.woken > woken)
    assert drained.end("a") and not drained.end("a")
    eventually(lambda: b.hosts("t") == ("b", "a"))
    eventually(lambda: a.hosts("t") == ("b", "a"))

    lost, woken = b.coordinator.session_id, a.woken
    b.coordinator.close()
    eventually(lambda: a.woken > woken)
    eventually(lambda: a.hosts("t") == ("a",))
    assert a.part.candidacy("t").ended == {lost}

    node = groups.read(GROUP)
    groups.write(GROUP, GroupRecord(placed={"t": ("x",)}, pins={}), node.version)
    with pytest.raises(VersionConflict):
        groups.write(GROUP, GroupRecord(), node.version)
    assert a.hosts("t") == ("a",)


def test_member_that_leaves_is_followed_before_it_is_gone(session: Session, layout: Layout) -> None:
    Registry(session(), layout).create("t", {"name": "t", "group": GROUP, "standbys": 0}, "test")
    a, b = Member(session, layout, "a"), Member(session, layout, "b")
    assert a.hosts("t") == b.hosts("t") == ("a",)
    a.part.leave("a")
    eventually(lambda: b.hosts("t") == ("b",))
    eventually(lambda: a.hosts("t") == ("b",))
    assert not a.part.tasks
