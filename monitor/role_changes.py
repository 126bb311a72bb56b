"""Derives changes of roles from a task's history: which Core took over from which, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from replicator.coordination.records import HistoryRecord
from replicator.coordination.tasks.history import Entry

Tone = Literal["ok", "warn", "bad", "idle"]

_TONES: dict[str, Tone] = {
    "started": "ok",
    "switchover": "ok",
    "running again": "ok",
    "resumed": "ok",
    "created": "ok",
    "fail-over": "warn",
    "gave up": "warn",
    "restart": "ok",
    "position": "warn",
    "failed": "bad",
    "quarantine": "warn",
    "quarantined": "bad",
    "refused": "warn",
}


_NAMED_HOST = {"gave up": "; to ", "fail-over": "; "}
"""Before which the reason of a take-over ends: what follows is the host."""


class Change(msgspec.Struct, frozen=True):
    """One line of "role changes".

    Attributes:
        kind: "started", "fail-over", "switchover", "gave up" (the one before did not reach its source or sink and
            handed over) or "running again" for a new term, else the kind of the entry.
        previous: the host that was RUNNING before, where another one took over.
        seconds: how long the change took: from the release, or, if it was not released, from being first in line.
            0 when unknown.
        position: where a task goes on from, of "position".
        outage_s: how long nobody was RUNNING before a fail-over, 0 when nobody watched.
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
    position: str = ""
    seconds: float = 0.0
    outage_s: float = 0.0


class _RoleSequence:
    """Reads the entries of one task. Terms are told apart by their epoch, because the last word of an old term and the
    first one of the next are written by two hosts and may stand in either order.

    "released", "switchover" and "gave up" say that a term ended on purpose, "lost" that it did not; none of them is a
    line of its own, they explain the next "running". A worker that starts again within a term writes "running" once
    more.
    """

    def __init__(self, task: str, entries: Sequence[Entry]) -> None:
        self._task = task
        self._ended = {entry.record.epoch: entry.record for entry in entries if _handed_over(entry.record)}
        self._lost = {entry.record.epoch: entry.record for entry in entries if entry.record.kind == "lost"}
        self._leader: HistoryRecord | None = None

    def tell(self, entry: Entry) -> Change | None:
        record = entry.record
        if record.kind == "running":
            return self._term(entry)
        if _handed_over(record):
            self._leader = self._leader or record  # the history before it was trimmed
            return None
        return None if record.kind in ("lost", "switchover") else self._line(entry, record.kind)

    def _term(self, entry: Entry) -> Change:
        record, leader = entry.record, self._leader
        self._leader = record
        if leader is None:
            return self._line(entry, "started", seconds=record.seconds)
        if leader.epoch == record.epoch and leader.host == record.host:
            return self._line(entry, "running again")
        ended = self._ended.get(leader.epoch)
        if ended is not None and leader.host == record.host:
            return self._line(entry, "running again")
        previous = leader.host if leader.host != record.host else ""
        if ended is None:
            lost = self._lost.get(leader.epoch)
            return self._line(entry, "fail-over", previous=previous, seconds=record.seconds, because=lost)
        gap = max(record.time_ms - ended.time_ms, 0) / 1000
        kind = "gave up" if ended.kind == "gave up" else "switchover"
        return self._line(entry, kind, previous=previous, seconds=gap or record.seconds, because=ended)

    def _line(
        self, entry: Entry, kind: str, *, previous: str = "", seconds: float = 0.0, because: HistoryRecord | None = None
    ) -> Change:
        record = entry.record
        reason = because.reason if because is not None and because.kind in ("released", "gave up", "lost") else ""
        if kind in _NAMED_HOST:
            reason = reason.rpartition(_NAMED_HOST[kind])[0] or reason  # the line names the host
        return Change(
            task=self._task,
            sequence=entry.number,
            kind=kind,
            tone=_TONES.get(kind, "idle"),
            time_ms=record.time_ms,
            host=record.host,
            previous=previous,
            epoch=record.epoch,
            by=record.by or (because.by if because is not None else ""),
            reason=record.reason or reason,
            position=record.position if kind == "position" else "",
            seconds=seconds,
        )


def _handed_over(record: HistoryRecord) -> bool:
    """A switchover that found its target RUNNING already changed nothing."""
    return record.kind in ("released", "gave up") or (record.kind == "switchover" and record.reason.startswith("to "))


def changes(task: str, entries: Sequence[Entry]) -> list[Change]:
    """Oldest first."""
    story = _RoleSequence(task, entries)
    told = [story.tell(entry) for entry in entries]
    return [change for change in told if change is not None]


def latest(told: Iterable[Change], limit: int = 30) -> tuple[Change, ...]:
    """The newest first, over all tasks."""
    return tuple(sorted(told, key=lambda change: (change.time_ms, change.sequence), reverse=True)[:limit])
