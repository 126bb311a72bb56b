"""How far a snapshot is, in the figures that people ask for: percent, rate, time left. Pure."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from replicator.model.snapshot import SnapshotProgress

SnapshotState: TypeAlias = Literal["running", "paused", "complete", "stopped"]


class SnapshotReport(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of a snapshot. `id`: `initial`, `order-N` of an ordered one, or `needed-N` of one that was taken because
    the position was purged; then `reason` says what was. `version`: of the configuration that added its tables, 0 if
    none did. `table`: the one that is being read, `database.table`, "" for none. `growing`: it has more rows than were
    expected, as it grows while it is read, or as the statistics of the source are old. `rows_expected`: estimate of the
    source, corrected as tables are read; `percent` is the part of them that was passed, also by rows that a condition
    leaves out, and is 100 only once the snapshot is complete. `bytes`: of the row images. `rows_per_s`: on average
    since `begun_ms`, null until it is known. `eta_s`: expected seconds to the end, null if unknown, growing or
    complete. `consistent_since`: position from which on the copy of a complete snapshot is consistent.
    `waits`: why a running one reads no rows now, "" if it does. `view`: position of the consistent view that the rows
    are of, "" without one; `view_ms`: when it was opened; `lock_ms`: how long
    the writers of the source were locked for it. `views`: how many were
    opened: behind one that is lost, the snapshot begins again, and delivers `rows_again` again. `absent`: ordered
    tables that did not exist at their turn, also not under another name; tables and patterns of the configuration that
    no table had at the beginning, with `(tables)` or `(where)`."""

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
    version: int = 0
    reason: str = ""
    consistent_since: str = ""
    waits: str = ""
    growing: bool = False
    view: str = ""
    view_ms: int = 0
    lock_ms: float = 0.0
    views: int = 0
    rows_again: int = 0
    absent: tuple[str, ...] = ()


def report(progress: SnapshotProgress, time_ms: int, *, paused: bool = False) -> SnapshotReport:
    """`time_ms`: when the task was as far as this. Not the present: while a task stands still its rate is not less.
    `paused`: as operators have ordered."""
    ended, state = bool(progress.ended_ms), _state(progress, paused)
    begun_ms = progress.cut_ms or progress.begun_ms
    rate = _rate(progress.rows, (progress.ended_ms or time_ms) - begun_ms)
    passed, table = _passed(progress), progress.open
    speed = _rate(passed, time_ms - begun_ms)
    left = progress.estimate - passed
    growing = not ended and table is not None and 0 < table.estimate < table.passed
    return SnapshotReport(
        id=progress.id,
        state=state,
        tables=progress.tables,
        tables_complete=progress.finished,
        table=table.table if table is not None else "",
        rows=progress.rows,
        rows_expected=progress.estimate,
        bytes=progress.size,
        percent=percent(progress),
        begun_ms=progress.begun_ms,
        ended_ms=progress.ended_ms,
        rows_per_s=rate,
        eta_s=None if ended or paused or growing or not speed or left <= 0 else round(left / speed, 1),
        growing=growing,
        version=progress.version,
        reason=progress.reason,
        consistent_since=progress.consistent_since,
        waits=progress.waits if state == "running" else "",
        view=progress.view,
        view_ms=progress.cut_ms,
        lock_ms=progress.lock_ms,
        views=progress.cuts,
        rows_again=progress.again,
        absent=progress.absent,
    )


def _state(progress: SnapshotProgress, paused: bool) -> SnapshotState:
    if progress.ended_ms:
        return "stopped" if progress.stopped else "complete"
    return "paused" if paused else "running"


def percent(progress: SnapshotProgress) -> int:
    """By the rows that the source expected: an estimate, so below 100 until it has ended."""
    if progress.ended_ms and not progress.stopped:
        return 100
    return min(99, 100 * _passed(progress) // progress.estimate) if progress.estimate else 0


def _passed(progress: SnapshotProgress) -> int:
    return max(progress.passed, progress.rows)  # earlier versions wrote the rows alone


def _rate(rows: int, elapsed_ms: int) -> float | None:
    return round(rows * 1000 / elapsed_ms, 1) if elapsed_ms > 0 else None
