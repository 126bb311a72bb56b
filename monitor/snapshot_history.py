"""State that the Monitor keeps between snapshots because ZooKeeper does not: offline machines, rates of the last
minutes, counted take-overs. It is lost when the Monitor restarts; machines named in the histories of tasks are found
again."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

import msgspec

from monitor.reach import Reaches
from monitor.role_changes import Change, latest
from monitor.snapshot_reader import Snapshot, TaskNode
from monitor.takeovers import Takeovers
from replicator.coordination.machines.machines import MachineNode
from replicator.coordination.records import MachineRecord

SPARK_SECONDS = 15.0
SPARK_POINTS = 60
"""A sparkline shows 15 minutes: 60 means of 15 s each."""
FORGET_MACHINES_MS = 7 * 24 * 3600 * 1000
FORGET_STOPPED_MS = 24 * 3600 * 1000
MAX_MACHINES = 1000
MOST_CHANGES = 1000


class Seen(msgspec.Struct):
    """A machine that was here. changed: our monotonic clock when its last report came; gone_ms: wall clock when its
    znode was first missed, None while it is online; stopped_ms: when its Core ended on purpose, None if it did not."""

    host: str
    last_ms: int
    record: MachineRecord | None = None
    changed: float = 0.0
    gone_ms: int | None = None
    stopped_ms: int | None = None


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
        self.machines: dict[str, Seen] = {}
        self.rates: dict[str, Rates] = {}
        self.takeovers = Takeovers()
        self.reaches = Reaches()
        self._told: dict[str, list[Change]] = {}

    def absorb(self, snapshot: Snapshot, told: dict[str, list[Change]], rates: dict[str, float]) -> None:
        """told: changes by task; rates: rows/s by task."""
        now = self._clock()
        self._told = told
        self.reaches.see((task.overview for task in snapshot.tasks), snapshot.time_ms)
        for machine in snapshot.machines:
            self._saw(machine, snapshot.time_ms, now)
        online = {machine.name for machine in snapshot.machines}
        for seen in self.machines.values():
            if seen.host not in online and seen.gone_ms is None:
                seen.gone_ms = snapshot.time_ms
        for task in snapshot.tasks:
            self._recall(task)
        self._distinguish(snapshot)
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

    def silence(self, host: str) -> float:
        """Seconds since the machine's last report."""
        seen = self.machines.get(host)
        return self._clock() - seen.changed if seen else 0.0

    def _saw(self, machine: MachineNode, time_ms: int, now: float) -> None:
        seen = self.machines.setdefault(machine.name, Seen(machine.name, time_ms, gone_ms=time_ms))
        # Every report carries the Core's time: the same one again is no report. Our own clock measures the silence.
        if seen.gone_ms is not None or machine.record != seen.record:
            seen.changed = now
        seen.record, seen.last_ms, seen.gone_ms = machine.record or seen.record, time_ms, None

    def _recall(self, task: TaskNode) -> None:
        """A machine that only the history knows went before we started: it was last heard of by then."""
        for entry in task.history:
            host, time_ms = entry.record.host, entry.record.time_ms
            if not host or entry.record.kind not in ("running", "released", "gave up", "lost", "failed"):
                continue
            seen = self.machines.setdefault(host, Seen(host, time_ms, gone_ms=time_ms))
            if seen.record is None and time_ms > seen.last_ms:
                seen.last_ms = seen.gone_ms = time_ms

    def _distinguish(self, snapshot: Snapshot) -> None:
        """Cores that have ended on purpose from those that were lost."""
        for host, record in snapshot.stopped.items():
            self.machines.setdefault(host, Seen(host, record.time_ms, gone_ms=record.time_ms))
        for host, seen in self.machines.items():
            end = snapshot.stopped.get(host) if seen.gone_ms is not None else None
            known = end is not None and (seen.record is None or seen.record.process == end.process)
            seen.stopped_ms = end.time_ms if end is not None and known else None

    def _forget(self, snapshot: Snapshot) -> None:
        gone = sorted(
            (seen for seen in self.machines.values() if seen.gone_ms is not None), key=lambda seen: seen.gone_ms or 0
        )
        surplus = max(0, len(self.machines) - MAX_MACHINES)
        for index, seen in enumerate(gone):
            kept_ms = FORGET_STOPPED_MS if seen.stopped_ms else FORGET_MACHINES_MS
            if index < surplus or (seen.gone_ms or 0) < snapshot.time_ms - kept_ms:
                del self.machines[seen.host]
        names = {task.name for task in snapshot.tasks}
        for name in [name for name in self.rates if name not in names]:
            del self.rates[name]
