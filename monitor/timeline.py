"""Which host was RUNNING when, and what happened to a task, over a span of time. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from monitor.role_changes import Change, Tone
from monitor.view import TaskRow

_BEGINS = frozenset({"started", "running again", "fail-over", "switchover", "gave up"})
_ENDS = frozenset({"failed", "paused"})


class Period(msgspec.Struct, frozen=True):
    """A host was RUNNING. open: it still is, or was at the last report."""

    from_ms: int
    to_ms: int
    open: bool = False


class Lane(msgspec.Struct, frozen=True):
    """One host. role: what it does now, "" where it takes no part in the election."""

    host: str
    role: str
    periods: tuple[Period, ...]


class Mark(msgspec.Struct, frozen=True):
    time_ms: int
    kind: str
    tone: Tone
    host: str
    text: str


class Timeline(msgspec.Struct, frozen=True):
    """Lanes in the order of the queue, then those of hosts that have left it; marks oldest first."""

    task: str
    from_ms: int
    to_ms: int
    lanes: tuple[Lane, ...]
    marks: tuple[Mark, ...]

    def share(self, time_ms: int) -> float:
        """Of the width, 0 to 1000."""
        return round(1000 * (time_ms - self.from_ms) / max(self.to_ms - self.from_ms, 1), 2)


def timeline(task: TaskRow, changes: Sequence[Change], from_ms: int, to_ms: int) -> Timeline:
    """`changes`: the newest first."""
    found: dict[str, list[Period]] = {member.host: [] for member in task.members}
    for host, period in _periods(task, list(reversed(changes)), to_ms):
        if period.to_ms >= from_ms and period.from_ms <= to_ms:
            clipped = Period(max(period.from_ms, from_ms), min(period.to_ms, to_ms), period.open)
            found.setdefault(host, []).append(clipped)
    roles = {member.host: member.state for member in task.members}
    lanes = tuple(Lane(host, roles.get(host, ""), tuple(periods)) for host, periods in found.items())
    marks = tuple(
        Mark(change.time_ms, change.kind, change.tone, change.host, _text(change))
        for change in reversed(changes)
        if from_ms <= change.time_ms <= to_ms
    )
    return Timeline(task.name, from_ms, to_ms, lanes, marks)


def _periods(task: TaskRow, changes: Sequence[Change], now_ms: int) -> list[tuple[str, Period]]:
    periods: list[tuple[str, Period]] = []
    host, since = "", 0

    def end(at_ms: int, *, still: bool = False) -> None:
        if host:
            periods.append((host, Period(since, max(at_ms, since), still)))

    for change in changes:
        if change.kind in _BEGINS:
            gap_s = change.outage_s or (change.seconds if change.previous else 0.0)
            end(change.time_ms - round(gap_s * 1000))
            host, since = change.host, change.time_ms
        elif change.kind in _ENDS:
            end(change.time_ms)
            host = ""
    runs = task.state == "RUNNING" and task.host == host
    end(now_ms if runs or not task.since_ms else task.since_ms, still=runs)
    return periods


def _text(change: Change) -> str:
    where = f"{change.previous} to {change.host}" if change.previous else change.host
    lasted = f"{change.outage_s or change.seconds:.1f} s" if change.outage_s or change.seconds else ""
    by = f"by {change.by}" if change.by else ""
    return ", ".join(part for part in (f"{change.kind} {where}".strip(), lasted, by, change.reason) if part)
