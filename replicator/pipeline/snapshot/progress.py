"""How the progress of a snapshot changes: chunks delivered, tables complete, tables passed over. Pure."""

from __future__ import annotations

import msgspec

from replicator.model.snapshot import OpenTable, SnapshotProgress
from replicator.pipeline.ports import Chunk

replace = msgspec.structs.replace


def advanced(table: OpenTable, chunk: Chunk, rows: int) -> OpenTable:
    """`rows`: delivered ones of the chunk."""
    return replace(
        table,
        done=chunk.last if chunk.last is not None else table.done,
        rows=table.rows + rows,
        size=table.size + len(chunk.images.data),
        passed=table.passed + _covered(chunk),
        chunks=table.chunks + 1,
    )


def delivered(before: SnapshotProgress, table: OpenTable, chunk: Chunk, rows: int) -> SnapshotProgress:
    """Behind a chunk of `table`, which is as it was before it. The estimate is corrected by what the table has: more
    rows than were expected as they come, fewer at its end."""
    expected = max(table.estimate, table.passed)
    table = advanced(table, chunk, rows)
    found = table.passed if chunk.final else max(table.estimate, table.passed)
    passed = before.passed + _covered(chunk)
    after = replace(
        before,
        open=table,
        rows=before.rows + rows,
        size=before.size + len(chunk.images.data),
        passed=passed,
        estimate=max(before.estimate + found - expected, passed),
    )
    return finished(after, table.table) if chunk.final else after


def with_rows(after: SnapshotProgress, rows: int) -> SnapshotProgress:
    """`after`, with so many delivered rows more, of the open table if there is one."""
    table = after.open
    return replace(after, rows=after.rows + rows, open=replace(table, rows=table.rows + rows) if table else None)


def without_rows(before: SnapshotProgress, after: SnapshotProgress) -> SnapshotProgress:
    """`after`, which does not know what was delivered until then. The rows of a table that is given up come again."""
    estimate, table = before.estimate if before.tables else after.estimate, before.open
    if table is not None and after.open is None:
        estimate += min(table.passed, table.estimate)
    return replace(after, rows=before.rows, size=before.size, passed=before.passed, estimate=estimate)


def _covered(chunk: Chunk) -> int:
    return max(len(chunk.images), chunk.covered)


def finished(progress: SnapshotProgress, table: str) -> SnapshotProgress:
    left = tuple(name for name in progress.left if name != table)
    last = progress.last if table in progress.left else table
    return replace(progress, open=None, last=last, left=left, finished=progress.finished + 1)


def passed_over(progress: SnapshotProgress, table: str) -> SnapshotProgress:
    """It is read at the end, from its beginning."""
    if table in progress.left:
        return replace(progress, open=None)
    return replace(progress, open=None, last=table, left=(*progress.left, table))
