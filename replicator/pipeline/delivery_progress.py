"""Counts what has been delivered, at the positions that the sink acknowledges."""

from __future__ import annotations

import time
from collections import deque

import msgspec

from replicator.model.batch import Batch
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position


class DeliveryCounters(msgspec.Struct):
    """What a pipeline has done since it was made. lag_s: seconds between commit at the source and delivery; 0 when
    everything read is delivered and the source is quiet. last_event_ms: commit time of the last delivered event.
    pieces: acknowledged ones of what was in flight at the end; a position may wait for many."""

    rows: int = 0
    transactions: int = 0
    bytes: int = 0
    lag_s: float = 0.0
    last_event_ms: int = 0
    pieces: int = 0


class DeliveryProgress:
    """Which totals belong to which committed position. `last`: of the latest acknowledged one, at first `base`;
    `advanced`: something was acknowledged; `outstanding`: something is committed and not yet acknowledged. `in_sink`:
    see `Checkpoint`, of what is acknowledged, as is `by_sql`."""

    def __init__(
        self, base: Checkpoint, figures: DeliveryCounters, *, in_sink: bool = False, by_sql: bool = False
    ) -> None:
        self.figures = figures
        self._by_sql = by_sql
        self._in_sink = in_sink
        self.last = base
        self.advanced = False
        self._rows, self._transactions = base.rows, base.transactions
        self._bytes, self._source_ms, self._dead = 0, base.source_ms, base.dead_letters
        self._conflicts, self._skipped = base.conflicts, base.skipped
        self._marks: deque[tuple[Position, int, int, int, int, int, int, int]] = deque()

    @property
    def outstanding(self) -> bool:
        return bool(self._marks)

    def written(self, batch: Batch, dead_letters: int = 0) -> None:
        """`dead_letters`: records of the batch that went there."""
        self._dead += dead_letters
        self._rows += batch.rows
        self._transactions += batch.transactions - batch.skipped
        self._skipped += batch.skipped
        self._bytes += batch.size
        self._source_ms = batch.source_ms or self._source_ms

    def committed(self, position: Position, conflicts: int = 0) -> None:
        """`conflicts`: that the sink has found since the last call."""
        self._conflicts += conflicts
        counted = self._rows, self._transactions, self._source_ms, self._bytes, self._dead, self._conflicts
        self._marks.append((position, *counted, self._skipped))
        self._bytes = 0

    def acknowledged(self, position: Position | None, epoch: int, idle: bool) -> None:
        """Everything up to the mark of `position` is durable. `idle`: the source had nothing more to give."""
        if position is not None and any(mark[0] == position for mark in self._marks):
            size = 0
            while True:
                reached, rows, transactions, source_ms, bytes_, dead, met, skipped = self._marks.popleft()
                size += bytes_
                if reached == position:
                    break
            now, figures = _now_ms(), self.figures
            figures.rows += rows - self.last.rows
            figures.transactions += transactions - self.last.transactions
            figures.bytes += size
            figures.last_event_ms = source_ms
            figures.lag_s = max(0.0, (now - source_ms) / 1000) if source_ms else 0.0
            marks = self.last.quarantined
            counts, seen = (rows, transactions, dead), (met, skipped)
            self.last = Checkpoint(reached, epoch, now, source_ms, *counts, marks, self._in_sink, *seen, self._by_sql)
            self.advanced = True
        if idle and not self._marks:
            self.figures.lag_s = 0.0


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
