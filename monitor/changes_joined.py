"""Changes for a list: what happened to many tasks at once is one line, under the day on which it happened. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

import msgspec

from monitor.role_changes import Change

TOGETHER_MS: Final = 60_000
"""Changes of one kind belong together if the next one follows within this time."""


class Line(msgspec.Struct, frozen=True):
    """`change`: the newest of them; `tasks`: of all, sorted; `day`: `26 Nov 2026`, UTC; `begins_day`: it is the first
    line of that day."""

    change: Change
    tasks: tuple[str, ...]
    day: str
    begins_day: bool

    @property
    def key(self) -> str:
        return f"{self.change.task}/{self.change.sequence}"


def joined(changes: Iterable[Change]) -> tuple[Line, ...]:
    """`changes`, the newest first, as lines, the newest first."""
    groups: list[list[Change]] = []
    open_groups: dict[tuple[str, ...], list[Change]] = {}
    for change in changes:
        same = open_groups.get(_cause(change))
        if same is None or same[-1].time_ms - change.time_ms > TOGETHER_MS:
            same = open_groups[_cause(change)] = []
            groups.append(same)
        same.append(change)
    lines, last = [], ""
    for group in groups:
        day = _day(group[0].time_ms)
        lines.append(Line(group[0], tuple(sorted({change.task for change in group})), day, day != last))
        last = day
    return tuple(lines)


def _cause(change: Change) -> tuple[str, ...]:
    """Positions of tasks are never the same: such changes stay lines of one task."""
    own = change.task if change.position else ""
    return change.kind, change.by, change.reason, change.previous, change.host, own


def _day(ms: int) -> str:
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).strftime("%-d %b %Y")
    except (OverflowError, ValueError, OSError):
        return "unknown day"
