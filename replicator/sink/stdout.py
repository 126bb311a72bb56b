"""Records as JSON lines on standard output, for `replicator run --sink stdout`.

What is written can't be taken back: lines go out at each commit, or earlier when more than 1 MB waits for it.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from replicator.errors import SinkError, SinkUnavailable
from replicator.model.batch import Batch
from replicator.model.conflicts import ConflictCounts
from replicator.model.position import Position
from replicator.model.term import Term
from replicator.sink.lines import LineWriter

_HELD_BYTES = 1 << 20


class StdoutSink:
    """`ports.Sink` for `type: stdout`.

    Args:
        descriptor: where lines go. They bypass `sys.stdout`, whose own buffer would complain at exit about a reader
            that went away.
    """

    dead_letters = 0  # no record is too large
    left = None
    holds_position = False
    holds_rows = unfinished = False
    conflicts: ConflictCounts = ()
    waited_s = 0.0
    by_sql = False

    def __init__(self, descriptor: int = 1) -> None:
        self._descriptor = descriptor
        self._offsets: dict[str, int] = {}
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._term: Term | None = None
        self._writer: LineWriter | None = None
        self._acknowledged: Position | None = None

    def open(self, term: Term) -> Position | None:
        term.check()
        self.close()
        self._term, self._writer = term, LineWriter(term, self._offsets)
        self._acknowledged = None
        return None

    def write(self, batch: Batch) -> None:
        term, writer = self._opened
        term.check()
        lines = writer.lines(batch.records)
        self._held += lines
        self._held_bytes += sum(map(len, lines))
        if self._held_bytes > _HELD_BYTES:
            self._put()

    def commit(self, position: Position) -> None:
        self._opened[0].check()
        self._put()
        self._acknowledged = position

    def acknowledged(self) -> Position | None:
        return self._acknowledged

    def flush(self, timeout: float, progress: Callable[[], None] | None = None) -> None:
        self._opened[0].check()

    def close(self) -> None:
        self._held, self._held_bytes = [], 0
        self._term = self._writer = None

    def _put(self) -> None:
        rest = memoryview(b"".join(self._held))
        self._held, self._held_bytes = [], 0
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except BrokenPipeError as error:
            raise SinkError(
                "E3201", "the reader of standard output has closed it", fix="Run the command again."
            ) from error
        except OSError as error:
            raise SinkError("E3201", "standard output is not writable", found=str(error)) from error

    @property
    def _opened(self) -> tuple[Term, LineWriter]:
        if self._term is None or self._writer is None:
            raise SinkUnavailable("E3201", "the sink is not open")
        return self._term, self._writer
