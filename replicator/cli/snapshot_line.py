"""Texts about the progress of a snapshot."""

from __future__ import annotations

from replicator.model.snapshot import SnapshotProgress


def percent(progress: SnapshotProgress) -> int:
    """By the rows that the source expected: an estimate, so below 100 until it has ended."""
    if progress.ended_ms:
        return 100
    return min(99, 100 * progress.rows // progress.estimate) if progress.estimate else 0


def line(progress: SnapshotProgress) -> str:
    """`snapshot 42 %, 1,200 rows, table 3 of 7 (shop.items)`."""
    rows = f"{progress.rows:,} rows"
    if progress.ended_ms:
        return f"snapshot complete, {rows}, {progress.finished} tables"
    table = f", table {progress.finished + 1} of {progress.tables}" if progress.tables else ""
    name = f" ({progress.open.table})" if progress.open is not None else ""
    return f"snapshot {percent(progress)} %, {rows}{table}{name}"
