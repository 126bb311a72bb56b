"""Texts about the progress of a snapshot."""

from __future__ import annotations

from replicator.model.snapshot import SnapshotProgress
from replicator.model.snapshot_report import percent


def line(progress: SnapshotProgress) -> str:
    """`snapshot 42 %, 1,200 rows, table 3 of 7 (shop.items)`."""
    rows = f"{progress.rows:,} rows"
    if progress.ended_ms:
        return f"snapshot complete, {rows}, {progress.finished} tables"
    table = f", table {progress.finished + 1} of {progress.tables}" if progress.tables else ""
    name = f" ({progress.open.table})" if progress.open is not None else ""
    return f"snapshot {percent(progress)} %, {rows}{table}{name}"
