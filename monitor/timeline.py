"""Which host had which role when, and what happened to a task, over a window of time. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, Literal

import msgspec

from monitor.role_changes import Change, Tone
from monitor.view import TaskRow

Role = Literal["RUNNING", "STANDBY", "PAUSED", "FAILED", "NONE"]
"""NONE: of the task, while no Core was RUNNING although one should have been."""
MarkKind = Literal["takeover", "pause", "configuration", "ddl", "failed", "other"]

_BEGINS: Final = frozenset({"started", "running again", "fail-over", "switchover", "gave up"})
_ENDS: Final[dict[str, Role]] = {"failed": "FAILED", "paused": "PAUSED"}
_TAKEOVERS: Final = frozenset({"fail-over", "switchover", "gave up"})
_MARKS: Final[dict[str, MarkKind]] = {
    **dict.fromkeys(_TAKEOVERS, "takeover"),
    **dict.fromkeys(("paused", "resumed", "maintenance"), "pause"),
    **dict.fromkeys(("configured", "created", "position", "restored"), "configuration"),
    "schema": "ddl",
    **dict.fromkeys(("failed", "refused", "quarantined", "fenced"), "failed"),
}


class Period(msgspec.Struct, frozen=True):
    """A host had a role. open: it still has, or had at the last report."""

    from_ms: int
    to_ms: int
    open: bool = False
    role: Role = "RUNNING"


class Lane(msgspec.Struct, frozen=True):
    """One host. role: what it does now, "" where it takes no part in the election. When a host that is RUNNING now was
    a standby is known only since it joined the queue."""

    host: str
    role: str
    periods: tuple[Period, ...]


class Mark(msgspec.Struct, frozen=True):
    """An event. sequence: of its entry in the history; seconds: how long a take-over took, or the time without a
    RUNNING Core where that was measured; 0: not known."""

    time_ms: int
    kind: str
    tone: Tone
    host: str
    text: str
    shape: MarkKind = "other"
    sequence: int = 0
    seconds: float = 0.0
    by: str = ""
    reason: str = ""
    previous: str = ""


class Timeline(msgspec.Struct, frozen=True):
    """Lanes in the order of the queue, then those of hosts that have left it; marks oldest first; gaps: no Core was
    RUNNING; since_ms: nothing is known of the time before, 0 without any history."""

    task: str
    from_ms: int
    to_ms: int
    lanes: tuple[Lane, ...]
    marks: tuple[Mark, ...]
    gaps: tuple[Period, ...] = ()
    since_ms: int = 0

    def share(self, time_ms: int) -> float:
        """Of the width, 0 to 100."""
        return round(100 * (time_ms - self.from_ms) / max(self.to_ms - self.from_ms, 1), 3)

    def width(self, period: Period) -> float:
        """Likewise, and something that can be seen."""
        return max(round(self.share(period.to_ms) - self.share(period.from_ms), 3), 0.15)


def timeline(
    task: TaskRow,
    changes: Sequence[Change],
    from_ms: int,
    to_ms: int,
    now_ms: int = 0,
    more: Sequence[Mark] = (),
) -> Timeline:
    """`changes`: the newest first. `now_ms`: 0: `to_ms`. `more`: marks from elsewhere."""
    oldest_first = list(reversed(changes))
    periods = _periods(task, oldest_first, now_ms or to_ms)
    found: dict[str, list[Period]] = {member.host: [] for member in task.members}
    for host, period in [*periods, *_standbys(task, periods, now_ms or to_ms)]:
        if period.to_ms >= from_ms and period.from_ms <= to_ms:
            found.setdefault(host, []).append(_clipped(period, from_ms, to_ms))
    roles = {member.host: member.state for member in task.members}
    lanes = tuple(
        Lane(host, roles.get(host, ""), tuple(sorted(each, key=lambda one: one.from_ms)))
        for host, each in found.items()
    )
    every = sorted([*map(_mark, oldest_first), *more], key=lambda mark: mark.time_ms)
    marks = tuple(mark for mark in every if from_ms <= mark.time_ms <= to_ms)
    gaps = tuple(
        _clipped(gap, from_ms, to_ms)
        for gap in _gaps(task, [period for _, period in periods], now_ms or to_ms)
        if gap.to_ms >= from_ms and gap.from_ms <= to_ms
    )
    since_ms = oldest_first[0].time_ms if oldest_first else 0
    return Timeline(task.name, from_ms, to_ms, lanes, marks, gaps, since_ms)


def _clipped(period: Period, from_ms: int, to_ms: int) -> Period:
    begin, end = max(period.from_ms, from_ms), min(period.to_ms, to_ms)
    return Period(begin, end, period.open and end == period.to_ms, period.role)


def _periods(task: TaskRow, changes: Sequence[Change], now_ms: int) -> list[tuple[str, Period]]:
    """Those of hosts that were RUNNING, PAUSED or FAILED, oldest first."""
    periods: list[tuple[str, Period]] = []
    host, since, role = "", 0, "RUNNING"

    def end(at_ms: int, *, still: bool = False) -> None:
        if host:
            periods.append((host, Period(since, max(at_ms, since), still, role)))  # type: ignore[arg-type]

    for change in changes:
        if change.kind in _BEGINS:
            gap_s = change.outage_s or (change.seconds if change.previous else 0.0)
            end(change.time_ms - (round(gap_s * 1000) if role == "RUNNING" else 0))
            host, since, role = change.host, change.time_ms, "RUNNING"
        elif change.kind in _ENDS:
            end(change.time_ms)
            host, since, role = change.host or host, change.time_ms, _ENDS[change.kind]
        elif change.kind == "resumed" and role == "PAUSED":
            end(change.time_ms)
            host = ""
    lasts = task.state == role and task.host == host
    end(now_ms if lasts or not task.since_ms else task.since_ms, still=lasts)
    return periods


def _standbys(task: TaskRow, periods: Sequence[tuple[str, Period]], now_ms: int) -> list[tuple[str, Period]]:
    """Of the hosts in the queue, since they joined it: when they had no other role."""
    found: list[tuple[str, Period]] = []
    for member in task.members:
        at = member.since_ms
        if not at:
            continue
        for period in (one for host, one in periods if host == member.host and one.to_ms > member.since_ms):
            if period.from_ms > at:
                found.append((member.host, Period(at, period.from_ms, False, "STANDBY")))
            at = max(at, period.to_ms)
        if at < now_ms and member.state not in ("RUNNING", "FAILED", "PAUSED"):
            found.append((member.host, Period(at, now_ms, True, "STANDBY")))
    return found


def _gaps(task: TaskRow, periods: Sequence[Period], now_ms: int) -> list[Period]:
    """Between periods; those of a pause count as none, as nobody wanted the task to run."""
    found = []
    for before, after in pairwise(periods):
        if before.role == "FAILED":
            found.append(Period(before.from_ms, max(after.from_ms, before.from_ms), False, "NONE"))
        elif before.role == "RUNNING" and after.from_ms > before.to_ms:
            found.append(Period(before.to_ms, after.from_ms, False, "NONE"))
    last = periods[-1] if periods else None
    if last is not None and task.desired == "running" and task.state != "RUNNING":
        begin = last.from_ms if last.role == "FAILED" else last.to_ms
        if last.role != "PAUSED" and begin < now_ms:
            found.append(Period(begin, now_ms, True, "NONE"))
    return found


def _mark(change: Change) -> Mark:
    took = change.outage_s or change.seconds
    return Mark(
        change.time_ms,
        change.kind,
        change.tone,
        change.host,
        _text(change),
        _MARKS.get(change.kind, "other"),
        change.sequence,
        took,
        change.by,
        change.reason,
        change.previous,
    )


def _text(change: Change) -> str:
    where = f"{change.previous} to {change.host}" if change.previous else change.host
    lasted = f"{change.outage_s or change.seconds:.1f} s" if change.outage_s or change.seconds else ""
    by = f"by {change.by}" if change.by else ""
    return ", ".join(part for part in (f"{change.kind} {where}".strip(), lasted, by, change.reason) if part)
