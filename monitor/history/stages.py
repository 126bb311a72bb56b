"""What the stages of a task did in the last second, from counters that its worker reports."""

from __future__ import annotations

from math import nan
from typing import Final

from monitor.view import TaskRow
from replicator.model.activity import BLOCKED_STAGES, BUSY_STAGES, Activity

NAMES: Final = (
    "publish_s",
    "inflight_bytes",
    *(f"busy_{s}" for s in BUSY_STAGES),
    *(f"blocked_{s}" for s in BLOCKED_STAGES),
)
UNKNOWN: Final = (nan,) * len(NAMES)
_STILL: Final = (nan, *(0.0 for _ in NAMES[1:]))
_REPORT_MS: Final = 1000
_LATE_MS: Final = 2500
"""A Core reports once a second, and is read once a second, so that the same report may be read twice."""


class _Seen:
    """activity: as of `time_ms`; values: what was made from it."""

    __slots__ = ("activity", "time_ms", "values")

    def __init__(self, activity: Activity, time_ms: int, values: tuple[float, ...]) -> None:
        self.activity, self.time_ms, self.values = activity, time_ms, values


class StageRates:
    """One value for each of `NAMES`, of each task."""

    def __init__(self) -> None:
        self._seen: dict[str, _Seen] = {}

    def of(self, task: TaskRow, time_ms: int) -> tuple[float, ...]:
        """As the task was read at `time_ms`. publish_s: mean duration, NaN without a commit; shares of the time."""
        activity = task.activity
        if activity is None or task.figures_old:
            self._seen.pop(task.name, None)
            return UNKNOWN
        before = self._seen.get(task.name)
        if before is None or time_ms < before.time_ms:
            self._seen[task.name] = _Seen(activity, time_ms, UNKNOWN)
            return UNKNOWN
        if activity == before.activity:
            if time_ms - before.time_ms < _LATE_MS:
                return before.values
            # Nothing happened. What comes next began in the last second, not when it was still.
            self._seen[task.name] = _Seen(activity, time_ms - _REPORT_MS, _STILL)
            return _STILL
        values = rates(before.activity, activity, (time_ms - before.time_ms) / 1000)
        self._seen[task.name] = _Seen(activity, time_ms, values)
        return values

    def keep(self, names: set[str]) -> None:
        """Forgets other tasks."""
        for name in self._seen.keys() - names:
            del self._seen[name]


def rates(before: Activity, after: Activity, seconds: float) -> tuple[float, ...]:
    """`seconds`: between the two. What another worker has begun again is not known."""
    commits = after.publishes.count - before.publishes.count
    busy = [after.busy_s(stage) - before.busy_s(stage) for stage in BUSY_STAGES]
    blocked = [after.blocked_s(stage) - before.blocked_s(stage) for stage in BLOCKED_STAGES]
    published_ms = after.publishes.sum_ms - before.publishes.sum_ms
    if seconds <= 0 or min(commits, published_ms, after.bytes - before.bytes, *busy, *blocked) < 0:
        return UNKNOWN
    publish_s = published_ms / 1000 / commits if commits else nan
    return publish_s, float(after.inflight_bytes), *(round(min(each / seconds, 1.0), 3) for each in (*busy, *blocked))
