"""A task's history told as changes of roles: who took over from whom, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from monitor.reader import Entry

Kind = Literal[
    "started",
    "fail-over",
    "switchover",
    "resumed here",
    "failed",
    "paused",
    "resumed",
    "configured",
    "created",
    "other",
]
Tone = Literal["ok", "warn", "bad", "idle"]

_TONES: dict[str, Tone] = {
    "fail-over": "warn",
    "failed": "bad",
    "paused": "idle",
    "other": "idle",
    "configured": "idle",
}
_PLAIN: dict[str, Kind] = {
    "failed": "failed",
    "paused": "paused",
    "resumed": "resumed",
    "configured": "configured",
    "created": "created",
}


class Change(msgspec.Struct, frozen=True):
    """One line of "role changes". previous: the host that was RUNNING before, where another one took over;
    seconds: how long nobody was RUNNING, 0 when unknown."""

    task: str
    sequence: int
    kind: Kind
    tone: Tone
    time_ms: int
    host: str = ""
    previous: str = ""
    epoch: int = 0
    by: str = ""
    reason: str = ""
    seconds: float = 0.0


def changes(task: str, entries: Sequence[Entry]) -> list[Change]:
    """Oldest first. "released", "lost" and the order for a switchover are not lines of their own: they say why the next
    "running" came about."""
    told: list[Change] = []
    leader, released, gap_from = "", False, 0
    for entry in entries:
        record = entry.record
        if record.kind in ("released", "lost"):
            released, gap_from = record.kind == "released", record.time_ms
        elif record.kind == "running":
            kind = _take_over(leader, record.host, released)
            gap = record.seconds or ((record.time_ms - gap_from) / 1000 if gap_from and leader else 0.0)
            told.append(_change(task, entry, kind, previous=leader, seconds=max(gap, 0.0)))
            leader, released, gap_from = record.host, False, 0
        elif record.kind != "switchover":
            told.append(_change(task, entry, _PLAIN.get(record.kind, "other")))
    return told


def _take_over(leader: str, host: str, released: bool) -> Kind:
    if not leader:
        return "started"
    if not released:
        return "fail-over"
    return "switchover" if leader != host else "resumed here"


def _change(task: str, entry: Entry, kind: Kind, previous: str = "", seconds: float = 0.0) -> Change:
    record = entry.record
    return Change(
        task=task,
        sequence=entry.sequence,
        kind=kind,
        tone=_TONES.get(kind, "ok"),
        time_ms=record.time_ms,
        host=record.host,
        previous=previous if previous != record.host else "",
        epoch=record.epoch,
        by=record.by,
        reason=record.reason or (record.kind if kind == "other" else ""),
        seconds=seconds or record.seconds,
    )


def latest(told: Iterable[Change], limit: int = 30) -> tuple[Change, ...]:
    """The newest first, over all tasks."""
    return tuple(sorted(told, key=lambda change: (change.time_ms, change.sequence), reverse=True)[:limit])
