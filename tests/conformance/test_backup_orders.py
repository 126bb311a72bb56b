"""Orders of operators in a backup: pins, drained hosts, deleted names, locks of sources and cut-overs."""

from __future__ import annotations

from pathlib import Path

from replicator.coordination.groups.drained import Drained
from replicator.coordination.groups.groups import Groups
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import GroupRecord, StatusRecord, dump
from replicator.coordination.sources.source_locks import SourceLocks
from replicator.coordination.tasks.purged import Purged
from replicator.coordination.tasks.registry import Registry
from replicator.coordination.tasks.status import Status
from replicator.model.position import Position
from tests.conformance.test_backup import TASK, make, new, old, put_back, taken  # noqa: F401 - fixtures among them


def write_pins(zk: Coordinator, layout: Layout, **pins: str) -> None:
    groups = Groups(zk, layout)
    zk.create(layout.group("blue"), dump(GroupRecord()), parents=True)
    groups.write("blue", GroupRecord(pins=pins, placed={TASK: ("gone",)}), groups.read("blue").version)


def test_orders_of_operators_come_back(zk: Coordinator, old: Layout, new: Layout, tmp_path: Path) -> None:  # noqa: F811
    make(zk, old)
    deleted = make(zk, old, "gone")
    Status(zk, old).set("gone", "deleted", "me", purge=True)
    assert Registry(zk, old).remove("gone")
    write_pins(zk, old, **{TASK: "host-b"})
    Drained(zk, old).begin("host-a", "ann", "new disks")
    SourceLocks(zk, old).lock("db1:3306", "ann", "new disks", until_ms=7)
    zk.create(old.cutover("20261126-120000-9f3c"), b"{}", parents=True)
    taken(zk, old, tmp_path / "b")
    for _ in range(2):  # a restore may be repeated
        put_back(zk, new, tmp_path / "b", overwrite=True)
        assert Groups(zk, new).read("blue").record.pins == {TASK: "host-b"}
        assert zk.children(new.drained) == ["host-a"]
        assert Purged(zk, new).read("gone").uids == (deleted,)
        locked = SourceLocks(zk, new).all()["db1:3306"]
        assert (locked.record.by, locked.record.until_ms) == ("ann", 7)
        assert zk.exists(new.cutovers) is None


def test_pins_are_added_to_what_cores_have_written(
    zk: Coordinator,
    old: Layout,  # noqa: F811
    new: Layout,  # noqa: F811
    tmp_path: Path,
) -> None:
    make(zk, old)
    write_pins(zk, old, **{TASK: "host-b", "other": "host-c", "third": "host-d"})
    taken(zk, old, tmp_path / "b")
    write_pins(zk, new, other="host-z")
    put_back(zk, new, tmp_path / "b")
    found = Groups(zk, new).read("blue").record
    assert found.pins == {TASK: "host-b", "other": "host-z", "third": "host-d"}, "what was set since stays"
    assert found.placed == {TASK: ("gone",)}


def test_one_task_brings_its_pin_alone(zk: Coordinator, old: Layout, new: Layout, tmp_path: Path) -> None:  # noqa: F811
    make(zk, old)
    write_pins(zk, old, **{TASK: "host-b", "other": "host-c"})
    Drained(zk, old).begin("host-a", "ann", "new disks")
    taken(zk, old, tmp_path / "b")
    put_back(zk, new, tmp_path / "b", TASK)
    assert Groups(zk, new).read("blue").record == GroupRecord(pins={TASK: "host-b"})
    assert zk.exists(new.drained) is None or zk.children(new.drained) == []


def test_a_task_in_a_cutover_is_paused_and_in_none(
    zk: Coordinator,
    old: Layout,  # noqa: F811
    new: Layout,  # noqa: F811
    tmp_path: Path,
) -> None:
    make(zk, old)
    half = StatusRecord(desired="paused", cutover="20261126-120000-9f3c", at=Position("binlog.000009", 4))
    zk.set(old.status(TASK), dump(half))
    taken(zk, old, tmp_path / "b")
    put_back(zk, new, tmp_path / "b")
    found = Status(zk, new).read(TASK)
    assert (found.desired, found.cutover, found.at) == ("paused", "", None)
