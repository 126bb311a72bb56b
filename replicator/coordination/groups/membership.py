"""The part of one Core in its group: it joins, places tasks together with the others, and says what it takes part in.

Each member computes the placement from what it sees, and writes it where it differs from the stored one, against the
version that it has read. There is no scheduler: whoever is first writes, and the others come to the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from replicator.coordination.groups.candidacy import Candidacy
from replicator.coordination.groups.drained import Drained, is_drained
from replicator.coordination.groups.groups import GroupNode, Groups
from replicator.coordination.groups.placement import Members, place
from replicator.coordination.groups.wishes import Wish, Wishes
from replicator.coordination.layout import Layout, parse_contender
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import GroupRecord, MemberRecord
from replicator.coordination.watches import Watches
from replicator.errors import NodeMissing, VersionConflict

DEFAULT_CAPACITY: Final = 100
_SESSIONS: Final = 100
"""Ended sessions that are remembered."""


class Membership:
    """Not thread-safe.

    Args:
        group: "" for a Core without a group, which only follows whether its host is drained.
        capacity: sum of the weights of tasks that it takes.
        wake: called from any thread when a turn is due; must not block.
    """

    def __init__(
        self, coordinator: Coordinator, layout: Layout, group: str, capacity: int, wake: Callable[[], None]
    ) -> None:
        self.group = group
        self._capacity = capacity
        self._coordinator, self._layout = coordinator, layout
        self._groups, self._drained = Groups(coordinator, layout), Drained(coordinator, layout)
        self._wishes = Wishes(coordinator, layout, wake)
        self._watches = Watches(wake)
        self._wake = wake
        self._leaving = False
        self._is_new = True  # this process has not placed anything yet
        self._host = ""
        self._is_member = self._is_draining = False
        self._record = GroupRecord()
        self._before: GroupNode | None = None
        self._ended: tuple[int, ...] = ()

    @property
    def tasks(self) -> list[str]:
        """Those that this Core is to take part in."""
        return [task for task in self._record.placed if self._is_placed(task)]

    def _is_placed(self, task: str) -> bool:
        may = self._is_member and not (self._is_new and self._is_draining)
        return may and self._host in self._record.placed.get(task, ())

    def candidacy(self, task: str) -> Candidacy:
        hosts = self._record.placed.get(task, ())
        return Candidacy(
            group=self.group,
            hosts=hosts,
            own=self._is_placed(task),
            pinned=bool(hosts) and self._record.pins.get(task) == hosts[0],
            draining=self._is_draining,
            ended=frozenset(self._ended),
        )

    def leave(self, process: str) -> None:
        """The process ends: tasks are placed on others while it hands over. Fine when it is no member."""
        self._leaving = True
        if self._is_member:
            self._groups.join(self.group, self._host, MemberRecord(process, self._capacity, leaving=True))

    def clear(self) -> None:
        """The session is gone, and all watches with it."""
        self._watches.clear()
        self._wishes.clear()
        self._is_member = False

    def turn(self, host: str, process: str) -> None:
        """Joins, reads and places. Raises NotConnected, and CoordinationError for what can't be read; the former
        placement stays valid then."""
        self._host = host
        drained = self._read_drained()
        self._is_draining = is_drained(host, drained)
        if not self.group:
            return
        node = self._join(self._read(), process)
        wishes = self._wishes.read()
        wanted = self._wanted(node, drained, wishes)
        if wanted != node.record and not self._leaving:
            node = self._write(node, wanted)
        self._record = node.record
        self._is_new = self._is_new and wanted != node.record

    def _read_drained(self) -> frozenset[str]:
        path = self._layout.drained
        try:
            with self._watches.on("children", path) as watch:
                return self._drained.hosts(watch)
        except NodeMissing:
            with self._watches.on("data", path) as watch:
                self._coordinator.exists(path, watch)
            return frozenset()

    def _read(self) -> GroupNode:
        record, members = self._layout.group(self.group), self._layout.members(self.group)
        with self._watches.on("data", record) as on_record, self._watches.on("children", members) as on_members:
            node = self._groups.read(self.group, on_record, on_members)
        self._prove(node)
        return node

    def _join(self, node: GroupNode, process: str) -> GroupNode:
        record = MemberRecord(process, self._capacity, self._leaving)
        if node.version < 0 or node.parent is None:
            self._groups.create(self.group)
            self._watches.clear()  # nothing was there to be watched
        own = node.members.get(self._host)
        if own is None or own.owner != self._coordinator.session_id or own.record != record:
            self._is_member = self._groups.join(self.group, self._host, record)
            return self._read()
        self._is_member = True
        return node

    def _write(self, node: GroupNode, wanted: GroupRecord) -> GroupNode:
        """Only from a reading that is current: a Core whose server is behind would move tasks without need, and a task
        would go back and forth between it and the others."""
        placed, changed = node.record.placed, set(wanted.placed.items()) ^ set(node.record.placed.items())
        gone = {host for hosts in placed.values() for host in hosts} - set(node.members)
        if not self._groups.gone(self.group, gone):
            self._wake()
            return node
        wishes = self._wishes.read(again={task for task, _ in changed})
        node = self._read()
        wanted = self._wanted(node, self._read_drained(), wishes)
        if wanted == node.record:
            return node
        try:
            self._groups.write(self.group, wanted, node.version)
        except VersionConflict:
            self._wake()
            return node
        return msgspec.structs.replace(node, record=wanted)

    def _wanted(self, node: GroupNode, drained: frozenset[str], wishes: Mapping[str, Wish]) -> GroupRecord:
        members, demands, current = node.present(drained), node.demands(wishes), self._current(node, drained)
        placed = place(members, demands, current)
        leading = self._leading([task for task in placed if task not in current], members)
        if leading:
            placed = place(members, demands, {**leading, **current})
        pins = {task: host for task, host in node.record.pins.items() if task in wishes}
        return GroupRecord(placed=placed, pins=pins)

    def _current(self, node: GroupNode, drained: frozenset[str]) -> Mapping[str, tuple[str, ...]]:
        """Without this Core where it was started on a drained host: the tasks that the process before it kept, for
        want of another Core, ended with it."""
        placed = node.record.placed
        if not (self._is_new and is_drained(self._host, drained)):
            return placed
        return {task: tuple(host for host in hosts if host != self._host) for task, hosts in placed.items()}

    def _leading(self, tasks: list[str], members: Members) -> dict[str, tuple[str, ...]]:
        """The members that run tasks without a place: a task that joins the group stays where it runs."""
        found: dict[str, tuple[str, ...]] = {}
        for task in tasks:
            try:
                names = self._coordinator.children(self._layout.election(task))
            except NodeMissing:
                continue
            contenders = sorted(filter(None, map(parse_contender, names)), key=lambda each: each.sequence)
            if contenders and contenders[0].host in members:
                found[task] = (contenders[0].host,)
        return found

    def _prove(self, node: GroupNode) -> None:
        """Which session has ended: of the members' nodes only its own went since the last reading, in the transaction
        in which a machine's node went. Only the end of a session does both (see "Mutual exclusion" in DESIGN.md)."""
        before, self._before = self._before, node
        if before is None or before.parent is None or node.parent is None:
            return
        lost = set(before.names) - set(node.names)
        alone = node.parent.czxid == before.parent.czxid and node.parent.cversion == before.parent.cversion + 1
        if len(lost) != 1 or not alone:
            return
        owner = before.members.get(lost.pop())
        machines = self._coordinator.exists(self._layout.machines)
        if owner is not None and machines is not None and machines.pzxid == node.parent.pzxid:
            self._ended = (*self._ended, owner.owner)[-_SESSIONS:]
