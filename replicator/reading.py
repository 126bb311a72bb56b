"""The reader thread of a session: bytes of the stream become batches in the buffer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import msgspec

from replicator.buffer import Buffer, joined
from replicator.errors import ReplicatorError, SourceUnavailable
from replicator.model.batch import Batch
from replicator.model.position import Position
from replicator.ports import Decoder, Stream

_HELD_BYTES = 1 << 20
_BACKLOG_BYTES = 16 << 10  # a read that brings as much is not the last one for now
_CAREFUL_PIECE = 64
"""Bytes; no transaction is shorter, so that each such piece ends one at most."""


class Reader:
    """
    Args:
        stopping: set when the session shall end.
        is_end: whether a position of the stream is the end that was asked for.
        ends: there may be such an end, so that no batch may go beyond it.
        seen: a position of the stream, and whether it is between transactions -> that of the task; None: the same.
        careful: bytes of the source that are to be delivered transaction by transaction.

    Attributes:
        careful: what is left of those.
    """

    def __init__(
        self,
        stream: Stream,
        decoder: Decoder,
        buffer: Buffer,
        *,
        stopping: threading.Event,
        is_end: Callable[[Position], bool],
        ends: bool,
        seen: Callable[[Position, bool], Position] | None,
        careful: int,
    ) -> None:
        self.careful = careful
        self._stream = stream
        self._decoder = decoder
        self._buffer = buffer
        self._stopping = stopping
        self._is_end = is_end
        self._ends = ends
        self._seen = seen
        self._thread = threading.Thread(target=self._run, name="reader", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        self._thread.join()

    def _run(self) -> None:
        try:
            if self._read():
                self._buffer.end()
        except BaseException as error:
            ended = self._stopping.is_set() and isinstance(error, ReplicatorError)
            self._buffer.end(None if ended else error)

    def _read(self) -> bool:
        """Rows of an unfinished transaction wait for its end while they are few, so that a commit need not come before
        each of them. False: nobody takes any more."""
        held: Batch | None = None
        decoder = self._decoder
        while not self._stopping.is_set():
            try:
                data = self._stream.read(1.0)
            except SourceUnavailable:
                decoder.end()
                raise
            self._buffer.more = len(data) >= _BACKLOG_BYTES
            for batch in self._decoded(decoder, data):
                whole = batch if held is None else joined(held, batch)
                held = None
                if not whole.boundary and whole.size < _HELD_BYTES:
                    held = whole
                    continue
                place = whole.position
                if self._seen is not None:
                    whole = msgspec.structs.replace(whole, position=self._seen(place, whole.boundary))
                if not self._buffer.put(whole):
                    return False
                if whole.boundary and self._is_end(place):
                    return True
        return True

    def _decoded(self, decoder: Decoder, data: bytes) -> Iterator[Batch]:
        """Batches of as many whole transactions as `data` holds, or of one each, also to meet a given end."""
        size = _CAREFUL_PIECE if self.careful or self._ends else max(1, len(data))
        for start in range(0, max(1, len(data)), size):  # also when nothing came: an error may be waiting
            yield from decoder.feed(data[start : start + size])
            while decoder.more and not self._stopping.is_set():
                yield from decoder.feed(b"")
        self.careful = max(0, self.careful - len(data))
