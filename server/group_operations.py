"""Operations on groups of Cores: written to ZooKeeper, and carried out by the Cores."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from replicator.coordination.clock import now_ms
from replicator.coordination.groups.drained import Drained
from replicator.coordination.groups.groups import GroupNode, Groups
from replicator.coordination.groups.placement import loads, rebalanced
from replicator.coordination.groups.reader import GroupReader
from replicator.coordination.groups.report import GroupReport, report
from replicator.coordination.groups.wishes import Wish, wish_of
from replicator.coordination.layout import Layout
from replicator.coordination.overview import TaskOverview
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import GroupRecord, HistoryRecord
from replicator.coordination.tasks.history import History
from replicator.errors import CoordinationError, NodeMissing, ProcessError, VersionConflict
from server.task_operations import TaskOperations

_TRIES: Final = 5


class Move(msgspec.Struct, kw_only=True):
    """A task whose places change. `before`, `after`: hosts, the preferred one first."""

    task: str
    before: list[str]
    after: list[str]


class GroupOperations:
    """Thread-safe: it keeps nothing but the coordinator. Every method raises NotConnected while ZooKeeper is away."""

    def __init__(self, coordinator: Coordinator, layout: Layout, tasks: TaskOperations) -> None:
        self._tasks = tasks
        self._groups, self._drained = Groups(coordinator, layout), Drained(coordinator, layout)
        self._reader, self._history = GroupReader(coordinator, layout), History(coordinator, layout)

    # Reading

    def groups(self) -> list[GroupReport]:
        """Groups that have Cores, tasks or pins."""
        wishes, drained = self._wishes(), self._reader.drained()
        names = {*self._groups.names(), *(wish.group for wish in wishes.values() if wish.group)}
        nodes = [self._reader.find(name) for name in sorted(names)]
        found = [(node, report(node, drained, wishes)) for node in nodes]
        return [shown for node, shown in found if shown.members or shown.tasks or node.record.pins]

    def group(self, name: str) -> GroupReport:
        """Raises NodeMissing E5120."""
        for found in self.groups():
            if found.name == name:
                return found
        raise _no_group(name)

    def _wishes(self) -> dict[str, Wish]:
        return {view.name: wish_of(view.config) for view in self._tasks.tasks()}

    # Placing

    def rebalance(self, name: str, by: str, reason: str, *, dry_run: bool) -> list[Move]:
        """Spreads the tasks by weight. Raises NodeMissing E5120."""
        self.group(name)
        wishes, drained = self._wishes(), self._reader.drained()

        def change(node: GroupNode) -> GroupRecord:
            members, demands = node.present(drained), node.demands(wishes)
            placed = rebalanced(members, demands, node.record.placed)
            return msgspec.structs.replace(node.record, placed=placed)

        before, after = self._change(name, change, dry_run=dry_run)
        moves = _moves(before.placed, after.placed)
        for move in moves if not dry_run else ():
            self._note(move.task, by, f"rebalanced to {', '.join(move.after)}", reason)
        return moves

    def pin(self, task: str, host: str, by: str, reason: str) -> Move:
        """Raises ProcessError E5121, E5122."""
        view = self._tasks.task(task)
        wish = _grouped(view)
        drained = self._reader.drained()

        def change(node: GroupNode) -> GroupRecord:
            self._check_room(node, task, wish, host, drained)
            return msgspec.structs.replace(node.record, pins={**node.record.pins, task: host})

        before, _ = self._change(wish.group, change)
        self._note(task, by, f"pinned to {host}", reason)
        hosts = list(before.placed.get(task, ()))
        return Move(
            task=task, before=hosts, after=[host, *(each for each in hosts if each != host)][: wish.standbys + 1]
        )

    def unpin(self, task: str, by: str, reason: str) -> Move:
        """It stays where it is. Raises ProcessError E5122."""
        wish = _grouped(self._tasks.task(task))

        def change(node: GroupNode) -> GroupRecord:
            pins = {name: host for name, host in node.record.pins.items() if name != task}
            return msgspec.structs.replace(node.record, pins=pins)

        before, after = self._change(wish.group, change)
        if before.pins != after.pins:
            self._note(task, by, "unpinned", reason)
        hosts = list(after.placed.get(task, ()))
        return Move(task=task, before=hosts, after=hosts)

    def move(self, task: str, host: str, by: str, reason: str, *, dry_run: bool) -> Move:
        """Lets `host` run the task, once: later it stays where it is then. Raises ProcessError E5121, E5122;
        E5007 where it runs there already, or is not running and `host` is a standby."""
        view = self._tasks.task(task)
        wish = _grouped(view)
        if host == view.host:
            raise ProcessError(
                "E5007", f"task '{task}' already runs on '{host}'", found=view.state, fix="None required."
            )
        drained = self._reader.drained()

        def change(node: GroupNode) -> GroupRecord:
            self._check_room(node, task, wish, host, drained)
            pin = node.record.pins.get(task, "")
            if pin not in ("", host):
                raise ProcessError(
                    "E5121",
                    f"task '{task}' is pinned to another host",
                    found=pin,
                    wanted=host,
                    fix=f"`replicator task unpin {task}` first, or `replicator task pin {task} --to {host}`.",
                )
            others = [each for each in node.record.placed.get(task, ()) if each not in (host, view.host)]
            kept = [view.host] if view.host in node.record.placed.get(task, ()) else []
            hosts = (host, *others, *kept)[: wish.standbys + 1]
            return msgspec.structs.replace(node.record, placed={**node.record.placed, task: hosts})

        before, after = self._change(wish.group, change, dry_run=True)
        if any(one.host == host for one in view.standbys):
            self._tasks.switchover(task, host, by, dry_run, reason)
        if not dry_run:
            before, after = self._change(wish.group, change)
            self._note(task, by, f"moved to {host}", reason)
        return Move(task=task, before=list(before.placed.get(task, ())), after=list(after.placed[task]))

    def _check_room(self, node: GroupNode, task: str, wish: Wish, host: str, drained: frozenset[str]) -> None:
        members, wishes = node.present(drained), self._wishes()
        taking = sorted(name for name, member in members.items() if not member.draining)
        if host not in taking:
            raise ProcessError(
                "E5121",
                f"'{host}' is not a Core of the group '{wish.group}' that takes tasks",
                found=f"Cores that take tasks: {', '.join(taking) or 'none'}",
            )
        others = {name: hosts for name, hosts in node.record.placed.items() if name != task}
        load = loads(node.demands(wishes), others).get(host, 0)
        if load + wish.weight > members[host].capacity:
            raise ProcessError(
                "E5121",
                f"'{host}' has no room for '{task}'",
                found=f"weight {load} of {members[host].capacity}",
                wanted=f"room for weight {wish.weight}",
            )

    def _change(
        self, group: str, change: Callable[[GroupNode], GroupRecord], *, dry_run: bool = False
    ) -> tuple[GroupRecord, GroupRecord]:
        """Records before and after. Cores write the same node: the change is decided again on what they wrote."""
        for _ in range(_TRIES):
            node = self._groups.read(group)
            wanted = change(node)
            if dry_run or wanted == node.record:
                return node.record, wanted
            with contextlib.suppress(VersionConflict):
                self._groups.write(group, wanted, node.version)
                return node.record, wanted
        raise VersionConflict("E4006", f"the group '{group}' was changed by its Cores at each attempt")

    # Hosts

    def drain(self, host: str, by: str, reason: str) -> list[str]:
        """The tasks that its Cores have. Raises ProcessError E5123."""
        views = self._tasks.tasks()
        known = {machine.name for machine in self._tasks.known_machines()} | self._reader.drained()
        if host not in known:
            raise ProcessError(
                "E5123", f"there is no machine '{host}'", found=f"machines: {', '.join(sorted(known)) or 'none'}"
            )
        tasks = [view.name for view in views if any(one.host == host for one in view.instances)]
        if self._drained.begin(host, by, reason):
            for task in tasks:
                self._note(task, by, f"{host} is drained", reason)
        return tasks

    def undrain(self, host: str, by: str, reason: str) -> None:
        """Fine where it is not drained."""
        self._drained.end(host)

    def drained(self) -> frozenset[str]:
        return self._reader.drained()

    def _note(self, task: str, by: str, what: str, reason: str) -> None:
        """The deed is done: an entry that can't be written must not make it look undone."""
        text = f"{what}: {reason}" if reason else what
        with contextlib.suppress(CoordinationError):
            self._history.append(task, HistoryRecord(kind="placement", time_ms=now_ms(), by=by, reason=text))


def _grouped(view: TaskOverview) -> Wish:
    wish = wish_of(view.config)
    if not wish.group:
        raise ProcessError("E5122", f"task '{view.name}' belongs to no group", wanted="a task with `group:`")
    return wish


def _moves(before: Mapping[str, tuple[str, ...]], after: Mapping[str, tuple[str, ...]]) -> list[Move]:
    return [
        Move(task=task, before=list(before.get(task, ())), after=list(hosts))
        for task, hosts in after.items()
        if hosts != before.get(task, ())
    ]


def _no_group(name: str) -> NodeMissing:
    return NodeMissing("E5120", f"there is no group '{name}'")
