"""Groups of Cores in the coordinator: members, where tasks are placed, pins."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
from typing import Final

import msgspec

from replicator.coordination.compression import compressed, decompressed
from replicator.coordination.groups.drained import is_drained
from replicator.coordination.groups.placement import Demands, Member, Members
from replicator.coordination.groups.wishes import Wish
from replicator.coordination.layout import Layout, escape, unescape
from replicator.coordination.ports import Coordinator, Create, Listing, Set, Stat, Watcher
from replicator.coordination.records import GroupRecord, MemberRecord, dump, load
from replicator.errors import CoordinationError, NodeExists, NodeMissing, VersionConflict

MAX_BYTES: Final = 200_000
"""Of a group's node, compressed: thousands of tasks."""
_FIX: Final = "Delete the znode: the Cores of the group place its tasks again, where they run. Then pin tasks again."


class MemberNode(msgspec.Struct, frozen=True):
    """`owner`: its session; `czxid`: of its node; `record` None: not understood, so that it takes no tasks."""

    owner: int
    czxid: int
    record: MemberRecord | None


class GroupNode(msgspec.Struct, frozen=True):
    """A group as stored. `version`: -1 without a node. `names`: of the members' nodes when `parent`, their parent's
    stat, was taken; the members were read after that."""

    name: str
    record: GroupRecord
    version: int
    members: Mapping[str, MemberNode]
    names: tuple[str, ...] = ()
    parent: Stat | None = None

    def present(self, drained: Collection[str]) -> Members:
        """The members that tasks can be placed on."""
        return {
            name: Member(node.record.capacity, is_drained(name, drained))
            for name, node in self.members.items()
            if node.record is not None and not node.record.leaving
        }

    def places(self, task: str) -> tuple[str, ...]:
        """The members that take part in the election of a task, without those that are gone: the last member of a group
        leaves nobody who would note that."""
        return tuple(host for host in self.record.placed.get(task, ()) if host in self.members)

    def demands(self, wishes: Mapping[str, Wish]) -> Demands:
        pins = self.record.pins
        return {task: wish.demand(pins.get(task, "")) for task, wish in wishes.items() if wish.group == self.name}


class Groups:
    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self._coordinator, self._layout = coordinator, layout

    def names(self) -> list[str]:
        try:
            children = self._coordinator.children(self._layout.groups)
        except NodeMissing:
            return []
        return sorted(unescape(child) for child in children if escape(unescape(child)) == child)

    def read(self, group: str, on_record: Watcher | None = None, on_members: Watcher | None = None) -> GroupNode:
        """Members first: what a member has written before it went is then in the record.

        Raises CoordinationError E4009/E4010 where the record can't be read.
        """
        listing = self._listing(group, on_members)
        names = listing.names if listing is not None else ()
        paths = [f"{self._layout.members(group)}/{name}" for name in names]
        members = {}
        for name, path, node in zip(names, paths, self._coordinator.get_many(paths) if paths else [], strict=True):
            if node is not None:
                members[unescape(name)] = MemberNode(node.stat.owner, node.stat.czxid, _member(node.data, path))
        record, version = self._record(group, on_record)
        parent = listing.stat if listing is not None else None
        return GroupNode(group, record, version, members, tuple(map(unescape, names)), parent)

    def _listing(self, group: str, watch: Watcher | None) -> Listing | None:
        try:
            return self._coordinator.listing(self._layout.members(group), watch)
        except NodeMissing:
            return None

    def _record(self, group: str, watch: Watcher | None) -> tuple[GroupRecord, int]:
        path = self._layout.group(group)
        try:
            node = self._coordinator.get(path, watch)
        except NodeMissing:
            return GroupRecord(), -1
        if not node.data:
            return GroupRecord(), node.stat.version
        return load(GroupRecord, decompressed(node.data, path, "GroupRecord", _FIX), path), node.stat.version

    def write(self, group: str, record: GroupRecord, version: int) -> None:
        """`version`: of the record that this one replaces. Raises VersionConflict; CoordinationError E4011."""
        path, data = self._layout.group(group), compressed(dump(record))
        if len(data) > MAX_BYTES:
            raise CoordinationError(
                "E4011",
                f"the group '{group}' has too many tasks",
                found=f"{len(record.placed)} tasks, {len(data)} bytes",
                wanted=f"at most {MAX_BYTES} bytes",
                fix="Divide its tasks into several groups.",
            )
        try:
            if version >= 0:
                self._coordinator.multi([Set(path, data, version)])
            else:
                self.create(group)
                raise VersionConflict("E4006", f"the group '{group}' was created in the meantime")
        except NodeMissing:
            raise VersionConflict("E4006", f"the group '{group}' was deleted in the meantime") from None

    def create(self, group: str) -> None:
        """Fine when it is there."""
        with contextlib.suppress(NodeExists):
            self._coordinator.create(self._layout.groups, parents=True)
        with contextlib.suppress(NodeExists):
            self._coordinator.multi(
                [Create(self._layout.group(group), dump(GroupRecord())), Create(self._layout.members(group))]
            )

    def join(self, group: str, host: str, record: MemberRecord) -> bool:
        """Makes or changes our own member node. False while another session has one of this name."""
        path, data = self._layout.member(group, host), dump(record)
        stat = self._coordinator.exists(path)
        if stat is not None and stat.owner != self._coordinator.session_id:
            return False
        try:
            if stat is not None:
                self._coordinator.set(path, data)
            else:
                self._coordinator.create(path, data, ephemeral=True, parents=True)
        except (NodeExists, NodeMissing):
            return False
        return True

    def gone(self, group: str, hosts: Collection[str]) -> bool:
        """Whether none of these has a member node, not only as the server sees it that we are connected to. What is
        read after this call is not older than it."""
        paths = [self._layout.member(group, host) for host in sorted(hosts)]
        return not any(self._coordinator.confirm([*paths, self._layout.groups])[: len(paths)])


def _member(data: bytes, path: str) -> MemberRecord | None:
    try:
        return load(MemberRecord, data, path)
    except CoordinationError:
        return None
