"""Reads ZooKeeper into one immutable `Snapshot`, without decisions or writes.

What is read is kept under watches: a snapshot costs one request that proves that it is current, and one for each node
that has changed since the last one, whatever the number of tasks. History entries never change: each is fetched once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import msgspec

from replicator.alerts.silence import Silence
from replicator.alerts.silence_store import Silences
from replicator.coordination.addresses.book import AddressBook, AddressNode
from replicator.coordination.cached_overview import CachedOverview
from replicator.coordination.groups.drained import Drained
from replicator.coordination.layout import Layout
from replicator.coordination.machines.expected import Expectation, ExpectedMachines
from replicator.coordination.machines.machines import MachineNode
from replicator.coordination.machines.stopped import StoppedCores
from replicator.coordination.overview import TaskOverview
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import (
    HistoryRecord,
    ListenerRecord,
    MaintenanceRecord,
    MonitorRecord,
    ServerRecord,
    StoppedRecord,
    load,
)
from replicator.coordination.tasks.history import Entry
from replicator.coordination.tasks.maintenance import Maintenance
from replicator.errors import CoordinationError, NodeMissing

L = TypeVar("L", bound=ListenerRecord)
HISTORY_PER_TASK = 20
_HISTORY_CACHE = 20_000
CHECKED = 5
"""Nodes that are read again with each snapshot, to compare them with the cache."""


class TaskNode(msgspec.Struct, frozen=True):
    """A task as stored, and the newest entries of its history, oldest first."""

    overview: TaskOverview
    history: tuple[Entry, ...] = ()

    @property
    def name(self) -> str:
        return self.overview.name


class Snapshot(msgspec.Struct, frozen=True):
    """ZooKeeper at one moment. time_ms: our wall clock when the read began; seconds: how long it took; maintenance: of
    all tasks; stopped: Cores and agents that have ended on purpose, by host; expected: likewise; drained: hosts."""

    time_ms: int
    seconds: float = 0.0
    tasks: tuple[TaskNode, ...] = ()
    machines: tuple[MachineNode, ...] = ()
    agents: tuple[MachineNode, ...] = ()
    stopped: dict[str, StoppedRecord] = {}
    expected: dict[str, Expectation] = {}
    drained: frozenset[str] = frozenset()
    servers: tuple[ServerRecord, ...] = ()
    monitors: tuple[MonitorRecord, ...] = ()
    addresses: tuple[AddressNode, ...] = ()
    maintenance: MaintenanceRecord | None = None
    silences: tuple[Silence, ...] = ()


class SnapshotReader:
    """Takes snapshots. Used by one thread.

    Raises NotConnected (from `read`) when ZooKeeper is away; a single znode that can't be read becomes a problem of
    its task instead.
    """

    def __init__(self, coordinator: Coordinator, layout: Layout, clock: Callable[[], float] = time.time) -> None:
        self._coordinator = coordinator
        self._layout = layout
        self._overview = CachedOverview(coordinator, layout)
        self._cache = self._overview.cache
        self._maintenance = Maintenance(self._cache, layout)
        self._stopped = StoppedCores(self._cache, layout)
        self._stopped_agents = StoppedCores(self._cache, layout, agents=True)
        self._expected = ExpectedMachines(self._cache, layout)
        self._drained = Drained(self._cache, layout)
        self._book = AddressBook(self._cache, layout)
        self._silences = Silences(self._cache, layout)
        self._clock = clock
        self._history: dict[str, HistoryRecord] = {}

    def read(self) -> Snapshot:
        began = time.monotonic()
        now = int(self._clock() * 1000)
        self._overview.catch_up()
        machines = self._overview.machines()
        found = self._overview.tasks(machines)
        self._cache.warm({("history", task.name): partial(self._read_entries, task.name) for task in found})
        tasks = [TaskNode(task, self._entries(task.name)) for task in found]
        while len(self._history) > max(_HISTORY_CACHE, 2 * HISTORY_PER_TASK * len(tasks)):
            self._history.pop(next(iter(self._history)))
        return Snapshot(
            time_ms=now,
            tasks=tuple(tasks),
            machines=tuple(machines),
            agents=tuple(self._overview.agents()),
            # Behind the machines: a Core that ends writes before its node goes.
            stopped=self._stopped_agents.list() | self._stopped.list(),
            expected=self._expected.list(),
            drained=frozenset(self._drained.list()),
            servers=self._listeners(self._layout.servers, ServerRecord),
            monitors=self._listeners(self._layout.monitors, MonitorRecord),
            addresses=tuple(self._book.nodes()),
            maintenance=self._maintenance.read(""),
            silences=tuple(self._silences.list()),
            seconds=time.monotonic() - began,
        )

    def check(self) -> str:
        """See `TreeCache.check`."""
        return self._cache.check(CHECKED)

    def _entries(self, task: str) -> tuple[Entry, ...]:
        return self._cache.derived(("history", task), lambda: self._read_entries(task))

    def _read_entries(self, task: str) -> tuple[Entry, ...]:
        parent = self._layout.history(task)
        numbered = sorted((_number(name), name) for name in self._children(parent))
        found = [(number, self._entry(f"{parent}/{name}")) for number, name in numbered[-HISTORY_PER_TASK:]]
        return tuple(Entry(number, record) for number, record in found if record is not None)

    def _entry(self, path: str) -> HistoryRecord | None:
        if path not in self._history:
            try:
                self._history[path] = load(HistoryRecord, self._coordinator.get(path).data, path)
            except CoordinationError as error:
                if error.transient:
                    raise
                return None  # trimmed meanwhile, or written by a version to come
        return self._history[path]

    def _listeners(self, parent: str, kind: type[L]) -> tuple[L, ...]:
        found = []
        for child in self._children(parent):
            path = f"{parent}/{child}"
            try:
                found.append(load(kind, self._cache.get(path).data, path))
            except CoordinationError as error:
                if error.transient:
                    raise
        return tuple(found)

    def _children(self, path: str) -> list[str]:
        try:
            return self._cache.children(path)
        except NodeMissing:
            return []


def _number(name: str) -> int:
    digits = name.rpartition("-")[2]
    return int(digits) if digits.isascii() and digits.isdigit() else -1
