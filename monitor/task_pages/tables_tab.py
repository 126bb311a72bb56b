"""The tables of a task of which something is known: in quarantine, read by a snapshot, verified."""

from __future__ import annotations

import msgspec

from monitor.task_pages.tab import Asked
from monitor.task_pages.task_nodes import TaskNodes
from monitor.view import TaskRow
from replicator.model.checkpoint import Checkpoint
from replicator.model.quarantine import Quarantined
from replicator.model.snapshot import OpenTable, SnapshotProgress
from replicator.model.verification import VerifiedTable

_MOST = 20


class Quarantine(msgspec.Struct, frozen=True, kw_only=True):
    """A table that is or was left out. since, until: positions, until "" while it lasts; code, what, fix: of the error,
    "" where an operator ordered it; replayed: what was left out has been delivered."""

    table: str
    since: str
    until: str
    time_ms: int
    code: str
    what: str
    fix: str
    replayed: bool


class SnapshotTable(msgspec.Struct, frozen=True, kw_only=True):
    """The table that a snapshot reads. percent: None where the source expects no number of rows, or it has more; eta_s:
    seconds to its end, at the mean speed of the snapshot; None: not known."""

    table: str
    rows: int
    passed: int
    bytes: int
    chunks: int
    rows_expected: int
    percent: int | None
    eta_s: float | None
    by_key: bool


class Tables(msgspec.Struct, frozen=True, kw_only=True):
    """quarantined: those that last first, then the newest; reading: None without a running snapshot; left: tables that
    are read at its end; verified: those that differ first, at most 20 of `verified_total`."""

    quarantined: tuple[Quarantine, ...]
    reading: SnapshotTable | None
    left: tuple[str, ...]
    absent: tuple[str, ...]
    verified: tuple[VerifiedTable, ...]
    verified_total: int
    read_ms: int
    error: dict[str, str] | None


class TablesTab:
    key, title, every_s = "tables", "Tables", 2.0

    def __init__(self, nodes: TaskNodes) -> None:
        self._nodes = nodes

    async def content(self, asked: Asked) -> Tables:
        read = await self._nodes.checkpoint(asked.task)
        checkpoint = read.value
        progress = checkpoint.position.snapshot if checkpoint is not None else None
        verified = asked.task.verification.tables if asked.task.verification is not None else ()
        return Tables(
            quarantined=quarantine(checkpoint),
            reading=reading(asked.task, progress) if progress is not None else None,
            left=progress.left if progress is not None and not progress.ended_ms else (),
            absent=progress.absent if progress is not None else (),
            verified=tuple(sorted(verified, key=_interest)[:_MOST]),
            verified_total=len(verified),
            read_ms=read.read_ms,
            error=read.error,
        )


def quarantine(checkpoint: Checkpoint | None) -> tuple[Quarantine, ...]:
    marks = checkpoint.quarantined if checkpoint is not None else ()
    ordered = sorted(marks, key=lambda mark: (mark.until is not None, -mark.time_ms))
    return tuple(map(_quarantine, ordered))


def _quarantine(mark: Quarantined) -> Quarantine:
    error = mark.error or {}
    return Quarantine(
        table=mark.table,
        since=str(mark.since),
        until=str(mark.until) if mark.until is not None else "",
        time_ms=mark.time_ms,
        code=error.get("code", ""),
        what=error.get("what", ""),
        fix=error.get("fix", ""),
        replayed=mark.replayed,
    )


def reading(task: TaskRow, progress: SnapshotProgress) -> SnapshotTable | None:
    """`task`: has the speed of the whole snapshot."""
    table = progress.open
    if table is None or progress.ended_ms:
        return None
    passed = max(table.passed, table.rows)
    growing = passed > table.estimate
    return SnapshotTable(
        table=table.table,
        rows=table.rows,
        passed=passed,
        bytes=table.size,
        chunks=table.chunks,
        rows_expected=table.estimate,
        percent=None if growing or not table.estimate else min(99, 100 * passed // table.estimate),
        eta_s=None if growing else _eta(task, table, passed),
        by_key=bool(table.key),
    )


def _eta(task: TaskRow, table: OpenTable, passed: int) -> float | None:
    report = task.snapshot
    if report is None or report.state != "running" or not report.rows_per_s:
        return None
    return round((table.estimate - passed) / report.rows_per_s, 1)


def _interest(table: VerifiedTable) -> tuple[bool, int, str]:
    return table.result == "equal", -table.differences, table.table
