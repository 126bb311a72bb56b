"""Counts take-overs since the Monitor started, and the time without a RUNNING Core.

The histories do not say how long an outage was: who takes over only knows since when it was first in line, and the one
that died said nothing. The Monitor saw its last report.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from monitor.role_changes import Change
from replicator.coordination.overview import TaskOverview

DURATION_BUCKETS = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0)
"""Upper bounds, seconds."""
COUNTED = ("fail-over", "switchover", "gave up")


class Takeovers:
    """Counters only ever rise.

    Attributes:
        counts: by (task, "fail-over", "switchover" or "gave up").
        buckets, sum: histogram of the outages of fail-overs, the last bucket without a bound.
        outages: seconds by (task, sequence of the change), up to a second too long: reports come once a second.
    """

    def __init__(self) -> None:
        self.counts: dict[tuple[str, str], int] = {}
        self.buckets = [0] * (len(DURATION_BUCKETS) + 1)
        self.sum = 0.0
        self.outages: dict[tuple[str, int], float] = {}
        self._known: dict[str, int] = {}
        self._last_report: dict[str, int] = {}

    def absorb(self, task: TaskOverview, told: Iterable[Change]) -> None:
        """Every task of every snapshot, once; what is known at first sight is not counted."""
        known = self._known.get(task.name)
        for change in told:
            if known is not None and change.sequence > known and change.kind in COUNTED:
                self._count(change)
            self._known[task.name] = max(self._known.get(task.name, -1), change.sequence)
        self._known.setdefault(task.name, -1)
        if task.running and task.running.machine_time_ms and task.running.state.upper() == "RUNNING":
            self._last_report[task.name] = task.running.machine_time_ms

    def last_report(self, task: str) -> int:
        """When a Core last reported that it runs the task, 0: not since this Monitor started."""
        return self._last_report.get(task, 0)

    def _count(self, change: Change) -> None:
        key = (change.task, change.kind)
        self.counts[key] = self.counts.get(key, 0) + 1
        if change.kind != "fail-over":
            return
        reported = self._last_report.get(change.task, 0)
        outage = max((change.time_ms - reported) / 1000, change.seconds) if reported else change.seconds
        self.outages[change.task, change.sequence] = outage
        self.buckets[bisect_left(DURATION_BUCKETS, outage)] += 1
        self.sum += outage
        while len(self.outages) > 1000:
            self.outages.pop(next(iter(self.outages)))
