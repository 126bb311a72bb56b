"""Counts what has been delivered, at the positions that the sink acknowledges."""

from __future__ import annotations

import time
from collections import deque

import msgspec

from replicator.model.batch import Batch
from replicator.model.checkpoint import Checkpoint
from replicator.model.conflicts import ConflictCounts, added, total
from replicator.model.position import Position
from replicator.pipeline.status import PipelineStatus


class DeliveryCounters(msgspec.Struct):
    """What a pipeline has done since it was made. lag_s: when this was reported, None: unknown. last_event_ms: commit
    time of the last delivered event. pieces: acknowledged ones of what was in flight at the end; a position may wait
    for many."""

    rows: int = 0
    transactions: int = 0
    bytes: int = 0
    lag_s: float | None = None
    last_event_ms: int = 0
    pieces: int = 0


class DeliveryProgress:
    """Which totals belong to which committed position. `last`: of the latest acknowledged one, at first `base`;
    `advanced`: something was acknowledged; `outstanding`: something is committed and not yet acknowledged. `in_sink`:
    see `Checkpoint`, of what is acknowledged, as is `by_sql`."""

    def __init__(
        self,
        base: Checkpoint,
        figures: DeliveryCounters,
        status: PipelineStatus,
        *,
        in_sink: bool = False,
        by_sql: bool = False,
    ) -> None:
        self.figures = figures
        self._status = status
        self._by_sql = by_sql
        self._in_sink = in_sink
        self.last = base
        self.advanced = False
        self._rows, self._transactions = base.rows, base.transactions
        self._bytes, self._source_ms, self._dead = 0, base.source_ms, base.dead_letters
        self._conflicts, self._skipped = base.conflicts, base.skipped
        self._kinds = base.conflict_counts
        self._marks: deque[tuple[Position, int, int, int, int, int, int, ConflictCounts, int]] = deque()
        self._records, self._begun = 0, 0.0  # since the last mark; when the first of them was handed to the sink
        self._pieces: deque[tuple[int, float]] = deque()  # the same of each mark
        self._made = self._gone = 0  # numbers of the next mark, and of the next one to be acknowledged
        self._changes: deque[tuple[int, int]] = deque()  # number of the mark, commit time of the first change before it

    @property
    def outstanding(self) -> bool:
        return bool(self._marks)

    @property
    def waiting_ms(self) -> int:
        """Commit time of the oldest change that was written and is not acknowledged, ms; 0: there is none. Rows of
        a snapshot are no changes."""
        return self._changes[0][1] if self._changes else 0

    def writing(self, batch: Batch) -> None:
        """The batch is given to the sink, which may take long to take it."""
        if batch.records and batch.source_ms and (not self._changes or self._changes[-1][0] != self._made):
            self._changes.append((self._made, batch.first_ms or _now_ms()))
        if batch.records and not self._begun:
            self._begun = time.monotonic()
        self._tell(0, progress=False)

    def written(self, batch: Batch, dead_letters: int = 0) -> None:
        """`dead_letters`: records of the batch that went there."""
        self._dead += dead_letters
        self._rows += batch.rows
        self._transactions += batch.transactions - batch.skipped
        self._skipped += batch.skipped
        self._bytes += batch.size
        records = len(batch.records)
        self._records += records
        self._status.meter.written(records, batch.size)
        self._source_ms = batch.source_ms or self._source_ms

    def committed(self, position: Position, conflicts: ConflictCounts = ()) -> None:
        """`conflicts`: that the sink has found since the last call."""
        self._conflicts += total(conflicts)
        self._kinds = added(self._kinds, conflicts)
        counted = self._rows, self._transactions, self._source_ms, self._bytes, self._dead, self._conflicts
        self._marks.append((position, *counted, self._kinds, self._skipped))
        self._pieces.append((self._records, self._begun))
        self._bytes, self._records, self._begun = 0, 0, 0.0
        self._made += 1

    def _tell(self, changed_ms: int, *, progress: bool) -> None:
        self._status.delivered(self.waiting_ms, changed_ms, outstanding=self.outstanding, progress=progress)

    def acknowledged(self, position: Position | None, epoch: int) -> None:
        """Everything up to the mark of `position` is durable."""
        changed = 0  # commit time of the last change that is acknowledged with it, ms
        done = position is not None and any(mark[0] == position for mark in self._marks)
        if done:
            size, moment, meter = 0, time.monotonic(), self._status.meter
            while True:
                reached, rows, transactions, source_ms, bytes_, dead, met, kinds, skipped = self._marks.popleft()
                size += bytes_
                records, begun = self._pieces.popleft()
                meter.acknowledged(records, bytes_)
                if begun:
                    meter.published(moment - begun)
                self._gone += 1
                if reached == position:
                    break
            now, figures = _now_ms(), self.figures
            figures.rows += rows - self.last.rows
            figures.transactions += transactions - self.last.transactions
            figures.bytes += size
            figures.last_event_ms = source_ms
            while self._changes and self._changes[0][0] < self._gone:
                self._changes.popleft()
                changed = source_ms or now
            marks = self.last.quarantined
            counts, seen = (rows, transactions, dead), (met, skipped)
            how = (self._by_sql, kinds)
            self.last = Checkpoint(reached, epoch, now, source_ms, *counts, marks, self._in_sink, *seen, *how)
            self.advanced = True
        self._tell(changed, progress=done)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
