"""A task's history told as changes of roles: who took over from whom, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from replicator.coordination.history import Entry
from replicator.coordination.records import HistoryRecord

Tone = Literal["ok", "warn", "bad", "idle"]

_TONES: dict[str, Tone] = {
    "started": "ok",
    "switchover": "ok",
    "running again": "ok",
    "resumed": "ok",
    "created": "ok",
    "fail-over": "warn",
    "failed": "bad",
    "refused": "warn",
}


class Change(msgspec.Struct, frozen=True):
    """One line of "role changes".

    Attributes:
        kind: "started", "fail-over", "switchover" or "running again" for a new term, else the kind of the entry.
        previous: the host that was RUNNING before, where another one took over.
        seconds: how long nobody was RUNNING, 0 when unknown.
    """

    task: str
    sequence: int
    kind: str
    tone: Tone
    time_ms: int
    host: str = ""
    previous: str = ""
    epoch: int = 0
    by: str = ""
    reason: str = ""
    seconds: float = 0.0


class _Story:
    """Reads the entries in order. "released", "lost" and the outcome of the order "switchover" are not lines of their
    own: they say why the next "running" came about."""

    def __init__(self, task: str) -> None:
        self.told: list[Change] = []
        self._task = task
        self._leader = ""
        self._released = False
        self._gap_from = 0
        self._order: HistoryRecord | None = None

    def read(self, entry: Entry) -> None:
        record = entry.record
        if record.kind in ("released", "lost"):
            self._released, self._gap_from = record.kind == "released", record.time_ms
            self._leader = self._leader or record.host
        elif record.kind == "switchover":
            self._order = record
        elif record.kind == "running":
            self._took_over(entry)
        else:
            self._tell(entry, record.kind)

    def _took_over(self, entry: Entry) -> None:
        record, leader = entry.record, self._leader
        gap = (record.time_ms - self._gap_from) / 1000 if self._gap_from and leader else 0.0
        kind = self._kind(record.host)
        previous = leader if kind in ("fail-over", "switchover") and leader != record.host else ""
        self._tell(entry, kind, previous=previous, seconds=max(record.seconds or gap, 0.0))
        self._leader, self._released, self._gap_from, self._order = record.host, False, 0, None

    def _kind(self, host: str) -> str:
        if not self._leader:
            return "started"
        if not self._released:
            return "fail-over"
        return "switchover" if self._leader != host else "running again"

    def _tell(self, entry: Entry, kind: str, previous: str = "", seconds: float = 0.0) -> None:
        record, order = entry.record, self._order if kind == "switchover" else None
        self.told.append(
            Change(
                task=self._task,
                sequence=entry.number,
                kind=kind,
                tone=_TONES.get(kind, "idle"),
                time_ms=record.time_ms,
                host=record.host,
                previous=previous,
                epoch=record.epoch,
                by=record.by or (order.by if order else ""),
                reason=record.reason or (order.reason if order else ""),
                seconds=seconds,
            )
        )


def changes(task: str, entries: Sequence[Entry]) -> list[Change]:
    """Oldest first."""
    story = _Story(task)
    for entry in entries:
        story.read(entry)
    return story.told


def latest(told: Iterable[Change], limit: int = 30) -> tuple[Change, ...]:
    """The newest first, over all tasks."""
    return tuple(sorted(told, key=lambda change: (change.time_ms, change.sequence), reverse=True)[:limit])
