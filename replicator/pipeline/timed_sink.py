"""A sink whose calls are seen by other threads while they last."""

from __future__ import annotations

from collections.abc import Callable

from replicator.model.batch import Batch
from replicator.model.position import Position
from replicator.model.term import Term
from replicator.pipeline.ports import Sink
from replicator.pipeline.status import Call


class TimedSink:
    """`ports.Sink`: another sink, of which `call` says since when it has not returned."""

    def __init__(self, sink: Sink, call: Call) -> None:
        self._sink = sink
        self._call = call
        self.holds_rows = sink.holds_rows

    @property
    def dead_letters(self) -> int:
        return self._sink.dead_letters

    @property
    def conflicts(self) -> int:
        return self._sink.conflicts

    @property
    def holds_position(self) -> bool:
        return self._sink.holds_position

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
        with self._call:
            self._sink.write(batch)

    def commit(self, position: Position) -> None:
        with self._call:
            self._sink.commit(position)

    def acknowledged(self) -> Position | None:
        with self._call:
            return self._sink.acknowledged()

    def flush(self, timeout: float, progress: Callable[[], None] | None = None) -> None:
        with self._call:
            self._sink.flush(timeout, progress)

    def close(self) -> None:
        self._sink.close()
