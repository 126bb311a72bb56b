"""How far a snapshot is, in the figures that people ask for: percent, rate, time left. Pure."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from replicator.model.snapshot import SnapshotProgress

SnapshotState: TypeAlias = Literal["running", "paused", "complete", "stopped"]


class SnapshotReport(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of a snapshot. `id`: `initial`, or `order-N` of an ordered one. `table`: the one that is being
    read, `database.table`, "" for none. `rows_expected`: estimate of the source; `percent` is taken from it, and is
    100 only once the snapshot is complete. `bytes`: of the row images. `rows_per_s`: on average since `begun_ms`,
    null until it is known. `eta_s`: expected seconds to the end, null if unknown or complete."""

    id: str
    state: SnapshotState
    tables: int
    tables_complete: int
    table: str
    rows: int
    rows_expected: int
    bytes: int
    percent: int
    begun_ms: int
    ended_ms: int
    rows_per_s: float | None
    eta_s: float | None


def report(progress: SnapshotProgress, time_ms: int, *, paused: bool = False) -> SnapshotReport:
    """`time_ms`: when the task was as far as this. Not the present: while a task stands still its rate is not less.
    `paused`: as operators have ordered."""
    ended = bool(progress.ended_ms)
    rate = _rate(progress.rows, (progress.ended_ms or time_ms) - progress.begun_ms)
    left = progress.estimate - progress.rows
    return SnapshotReport(
        id=progress.id,
        state=_state(progress, paused),
        tables=progress.tables,
        tables_complete=progress.finished,
        table=progress.open.table if progress.open is not None else "",
        rows=progress.rows,
        rows_expected=progress.estimate,
        bytes=progress.size,
        percent=percent(progress),
        begun_ms=progress.begun_ms,
        ended_ms=progress.ended_ms,
        rows_per_s=rate,
        eta_s=None if ended or paused or not rate or left <= 0 else round(left / rate, 1),
    )


def _state(progress: SnapshotProgress, paused: bool) -> SnapshotState:
    if progress.ended_ms:
        return "stopped" if progress.stopped else "complete"
    return "paused" if paused else "running"


def percent(progress: SnapshotProgress) -> int:
    """By the rows that the source expected: an estimate, so below 100 until it has ended."""
    if progress.ended_ms and not progress.stopped:
        return 100
    return min(99, 100 * progress.rows // progress.estimate) if progress.estimate else 0


def _rate(rows: int, elapsed_ms: int) -> float | None:
    return round(rows * 1000 / elapsed_ms, 1) if elapsed_ms > 0 else None
