"""Reads ZooKeeper into one immutable `Snapshot`. Nothing is decided here and nothing is written.

A read is a walk over the tree: about five requests for each task, one for each machine. History entries never change,
so each is fetched once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import msgspec

from replicator.coordination.layout import Contender, Layout, parse_contender, unescape
from replicator.coordination.ports import Coordinator, Node
from replicator.coordination.records import (
    CommitRecord,
    HistoryRecord,
    InstanceRecord,
    MachineRecord,
    Record,
    ServerRecord,
    StatusRecord,
    TaskRecord,
    load,
)
from replicator.errors import CoordinationError, NodeMissing

HISTORY_PER_TASK = 20
_HISTORY_CACHE = 20_000

R = TypeVar("R", bound=Record)


class Entry(msgspec.Struct, frozen=True):
    """A history entry and its place in the task's history."""

    sequence: int
    record: HistoryRecord


class TaskNode(msgspec.Struct, frozen=True):
    """Everything under /tasks/TASK.

    Attributes:
        version: data version of the configuration's znode.
        contenders: by sequence; the first is the one that leads or is about to.
        instances: by name of the contender; absent where the znode went between two reads.
        strangers: children of the election that are not ours.
        problems: `ReplicatorError.to_dict()` of each znode that can't be read.
    """

    name: str
    version: int
    task: TaskRecord | None
    contenders: tuple[Contender, ...] = ()
    instances: dict[str, InstanceRecord] = {}
    commit: CommitRecord | None = None
    status: StatusRecord = msgspec.field(default_factory=StatusRecord)
    history: tuple[Entry, ...] = ()
    strangers: tuple[str, ...] = ()
    problems: tuple[dict[str, str], ...] = ()


class MachineNode(msgspec.Struct, frozen=True):
    """name: of the znode; the host's, or `HOST~xxxx` for a second Core of that name. mzxid changes with every report,
    so that silence can be told from a clock that stands still."""

    name: str
    record: MachineRecord
    mzxid: int


class Snapshot(msgspec.Struct, frozen=True):
    """ZooKeeper at one moment. time_ms: our wall clock when the read began; seconds: how long it took."""

    time_ms: int
    seconds: float = 0.0
    tasks: tuple[TaskNode, ...] = ()
    machines: tuple[MachineNode, ...] = ()
    servers: tuple[ServerRecord, ...] = ()
    problems: tuple[dict[str, str], ...] = ()


class Reader:
    """Takes snapshots. Used by one thread.

    Raises NotConnected (from `read`) when ZooKeeper is away; a single znode that can't be read becomes a problem of
    its task instead.
    """

    def __init__(self, coordinator: Coordinator, layout: Layout, clock: Callable[[], float] = time.time) -> None:
        self._coordinator = coordinator
        self._layout = layout
        self._clock = clock
        self._history: dict[str, HistoryRecord] = {}

    def read(self) -> Snapshot:
        began = time.monotonic()
        now = int(self._clock() * 1000)
        problems: list[dict[str, str]] = []
        tasks = [self._task(child) for child in self._children(self._layout.tasks)]
        machines = [self._machine(child, problems) for child in self._children(self._layout.machines)]
        servers = [self._server(child, problems) for child in self._children(self._layout.servers)]
        return Snapshot(
            time_ms=now,
            seconds=time.monotonic() - began,
            tasks=tuple(task for task in tasks if task is not None),
            machines=tuple(machine for machine in machines if machine is not None),
            servers=tuple(server for server in servers if server is not None),
            problems=tuple(problems),
        )

    def _task(self, child: str) -> TaskNode | None:
        layout, name = self._layout, self._layout.task_name(child)
        problems: list[dict[str, str]] = []
        node = self._get(layout.task(name))
        if node is None:
            return None
        contenders, strangers = self._contenders(name)
        return TaskNode(
            name=name,
            version=node.stat.version,
            task=_load(TaskRecord, node, layout.task(name), problems),
            contenders=contenders,
            instances=self._instances(name, contenders, problems),
            commit=self._record(CommitRecord, layout.last_commit(name), problems),
            status=self._record(StatusRecord, layout.status(name), problems) or StatusRecord(),
            history=self._entries(name, problems),
            strangers=strangers,
            problems=tuple(problems),
        )

    def _contenders(self, task: str) -> tuple[tuple[Contender, ...], tuple[str, ...]]:
        children = self._children(self._layout.election(task))
        parsed = [(child, parse_contender(child)) for child in children]
        ours = sorted((found for _, found in parsed if found is not None), key=lambda contender: contender.sequence)
        return tuple(ours), tuple(child for child, found in parsed if found is None)

    def _instances(
        self, task: str, contenders: tuple[Contender, ...], problems: list[dict[str, str]]
    ) -> dict[str, InstanceRecord]:
        found = {
            contender.name: self._record(InstanceRecord, self._layout.contender(task, contender.name), problems)
            for contender in contenders
        }
        return {name: record for name, record in found.items() if record is not None}

    def _entries(self, task: str, problems: list[dict[str, str]]) -> tuple[Entry, ...]:
        parent = self._layout.history(task)
        names = sorted(self._children(parent), key=_sequence)[-HISTORY_PER_TASK:]
        entries = []
        for name in names:
            path = f"{parent}/{name}"
            record = self._history.get(path) or self._record(HistoryRecord, path, problems)
            if record is not None:
                self._history[path] = record
                entries.append(Entry(_sequence(name), record))
        while len(self._history) > _HISTORY_CACHE:
            self._history.pop(next(iter(self._history)))
        return tuple(entries)

    def _machine(self, child: str, problems: list[dict[str, str]]) -> MachineNode | None:
        path = f"{self._layout.machines}/{child}"
        node = self._get(path)
        record = _load(MachineRecord, node, path, problems) if node else None
        return MachineNode(unescape(child), record, node.stat.mzxid) if node and record else None

    def _server(self, child: str, problems: list[dict[str, str]]) -> ServerRecord | None:
        return self._record(ServerRecord, f"{self._layout.servers}/{child}", problems)

    def _record(self, kind: type[R], path: str, problems: list[dict[str, str]]) -> R | None:
        node = self._get(path)
        return _load(kind, node, path, problems) if node is not None and node.data else None

    def _get(self, path: str) -> Node | None:
        try:
            return self._coordinator.get(path)
        except NodeMissing:
            return None

    def _children(self, path: str) -> list[str]:
        try:
            return self._coordinator.children(path)
        except NodeMissing:
            return []


def _load(kind: type[R], node: Node, path: str, problems: list[dict[str, str]]) -> R | None:
    try:
        return load(kind, node.data, path)
    except CoordinationError as error:
        problems.append(error.to_dict())
        return None


def _sequence(name: str) -> int:
    digits = name[-10:]
    return int(digits) if digits.isdigit() else -1
