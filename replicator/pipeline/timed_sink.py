"""A sink whose calls are seen by other threads while they last."""

from __future__ import annotations

from collections.abc import Callable

from replicator.model.batch import Batch
from replicator.model.conflicts import ConflictCounts
from replicator.model.position import Position
from replicator.model.term import Term
from replicator.pipeline.ports import Sink
from replicator.pipeline.status import PipelineStatus


class TimedSink:
    """`ports.Sink`: another sink, of which the `status` says since when it has not returned, and how long the stages
    `write` and `commit` took."""

    def __init__(self, sink: Sink, status: PipelineStatus) -> None:
        self._sink = sink
        self._call = status.sink
        self._meter = status.meter
        self.holds_rows = sink.holds_rows

    @property
    def dead_letters(self) -> int:
        return self._sink.dead_letters

    @property
    def conflicts(self) -> ConflictCounts:
        return self._sink.conflicts

    @property
    def holds_position(self) -> bool:
        return self._sink.holds_position

    @property
    def waited_s(self) -> float:
        return self._sink.waited_s

    @property
    def unfinished(self) -> bool:
        return self._sink.unfinished

    @property
    def by_sql(self) -> bool:
        return self._sink.by_sql

    @property
    def left(self) -> Position | None:
        return self._sink.left

    def open(self, term: Term) -> Position | None:
        with self._call:
            return self._sink.open(term)

    def write(self, batch: Batch) -> None:
        waited = self._sink.waited_s
        try:
            with self._call:
                self._sink.write(batch)
        finally:
            waited = self._sink.waited_s - waited
            self._meter.write_blocked += waited
            self._meter.write += max(0.0, self._call.took - waited)

    def commit(self, position: Position) -> None:
        try:
            with self._call:
                self._sink.commit(position)
        finally:
            self._meter.commit += self._call.took

    def acknowledged(self) -> Position | None:
        try:
            with self._call:
                return self._sink.acknowledged()
        finally:
            self._meter.commit += self._call.took

    def flush(self, timeout: float, progress: Callable[[], None] | None = None) -> None:
        try:
            with self._call:
                self._sink.flush(timeout, progress)
        finally:
            self._meter.commit += self._call.took

    def close(self) -> None:
        self._sink.close()
