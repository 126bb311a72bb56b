"""State that the Monitor keeps between snapshots because ZooKeeper does not: reports of machines that are gone, rates
of the last minutes, counted take-overs. It is lost when the Monitor restarts; which machines are expected is not."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

import msgspec

from monitor.machine_memory import MachineMemory
from monitor.reach import Reaches
from monitor.role_changes import Change, latest
from monitor.snapshot_reader import Snapshot
from monitor.takeovers import Takeovers

SPARK_SECONDS = 15.0
SPARK_POINTS = 60
"""A sparkline shows 15 minutes: 60 means of 15 s each."""
MOST_CHANGES = 1000


class Rates:
    """Means of rows/s over periods of `SPARK_SECONDS`, oldest first."""

    def __init__(self) -> None:
        self._points: deque[float] = deque(maxlen=SPARK_POINTS)
        self._sum = 0.0
        self._count = 0
        self._began = 0.0

    def add(self, rate: float, now: float) -> None:
        if self._count and now - self._began >= SPARK_SECONDS:
            self._points.append(self._sum / self._count)
            self._sum, self._count = 0.0, 0
        if not self._count:
            self._began = now
        self._sum += rate
        self._count += 1

    @property
    def points(self) -> tuple[float, ...]:
        return tuple(round(point, 1) for point in self._points)


class SnapshotHistory:
    """Fed with every snapshot, by the thread that takes them."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.machines = MachineMemory(clock)
        self.rates: dict[str, Rates] = {}
        self.takeovers = Takeovers()
        self.reaches = Reaches()
        self._told: dict[str, list[Change]] = {}

    def absorb(self, snapshot: Snapshot, told: dict[str, list[Change]], rates: dict[str, float]) -> None:
        """told: changes by task; rates: rows/s by task."""
        now = self._clock()
        self._told = told
        self.machines.absorb(snapshot)
        self.reaches.see((task.overview for task in snapshot.tasks), snapshot.time_ms)
        for task in snapshot.tasks:
            self.takeovers.absorb(task.overview, told.get(task.name, ()))
            self.rates.setdefault(task.name, Rates()).add(rates.get(task.name, 0.0), now)
        self._forget(snapshot)

    def spark(self, task: str) -> tuple[float, ...]:
        """Nothing where nothing flowed: the rows of idle tasks do not change."""
        rates = self.rates.get(task)
        points = rates.points if rates else ()
        return points if any(points) else ()

    def changes_of(self, task: str) -> tuple[Change, ...]:
        """All that its history in ZooKeeper has, the newest first. From any thread."""
        return latest((self.measured(change) for change in self._told.get(task, ())), MOST_CHANGES)

    def measured(self, change: Change) -> Change:
        """With the time without a RUNNING Core that this Monitor has measured."""
        outage = self.takeovers.outages.get((change.task, change.sequence))
        return msgspec.structs.replace(change, outage_s=outage) if outage else change

    def _forget(self, snapshot: Snapshot) -> None:
        names = {task.name for task in snapshot.tasks}
        for name in [name for name in self.rates if name not in names]:
            del self.rates[name]
