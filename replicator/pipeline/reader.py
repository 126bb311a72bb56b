"""Reads the source and decodes it into batches, in the delivery thread or in a separate reader thread.

While there is a backlog a thread reads on, so that reading and delivering overlap. While there is none, whoever
delivers reads by itself: the way from one thread to another would be a good part of a row's.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import msgspec

from replicator.errors import ReplicatorError, SourceUnavailable
from replicator.model.batch import Batch
from replicator.model.position import Position
from replicator.pipeline.buffer import Buffer, joined
from replicator.pipeline.catch_up import CatchUpSession
from replicator.pipeline.ports import Decoder, Stream
from replicator.pipeline.snapshot.session import SnapshotSession
from replicator.pipeline.status import PipelineStatus

_HELD_BYTES = 1 << 20
_BACKLOG_BYTES = 16 << 10  # a read that brings as much is not the last one for now
_BACKLOG_SECONDS = 0.5
"""The thread of its own reads on for as long without such a read: what has just been a backlog soon is one again."""
_THREAD_PATIENCE = 0.2
_SNAPSHOT_BYTES = 4 << 20
"""What waits while a snapshot runs: it has other memory besides, and the next rows are decoded in milliseconds."""
_ALONE_BYTES = 8 << 20
"""Behind more than this nothing is read or decoded until it is delivered: of rows of 64 MB one is in memory."""
_CAREFUL_PIECE = 64
"""Bytes; no transaction is shorter, so that each such piece ends one at most."""


class Reader:
    """The reading half of a session, for one thread that takes batches.

    Args:
        stopping: set when the session shall end.
        is_end: whether a position of the stream is the end that was asked for.
        ends: there may be such an end, so that no batch may go beyond it.
        seen: a position of the stream, and whether it is between transactions -> that of the task; None: the same.
        careful: bytes of the source that are to be delivered transaction by transaction.
        snapshot: puts rows between transactions; None: there is none.
        catch_up: instead of a snapshot.
        status: told of what is read.

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
        snapshot: SnapshotSession | None = None,
        catch_up: CatchUpSession | None = None,
        status: PipelineStatus | None = None,
    ) -> None:
        self._status = status or PipelineStatus()
        self._meter = self._status.meter
        self.careful = careful
        self._snapshot = snapshot
        self._fills = snapshot or catch_up
        self._place = stream.position
        self._stream = stream
        self._decoder = decoder
        self._buffer = buffer
        self._stopping = stopping
        self._is_end = is_end
        self._ends = ends
        self._seen = seen
        self._held: Batch | None = None
        self._ended = False
        self._batches: Iterator[Batch] = iter(())  # of what was read last
        self._backlog_until = 0.0
        self._thread: threading.Thread | None = None
        self._away = False  # it is the thread that reads

    def get(self, timeout: float, most: int = 0) -> Batch | None:
        """What comes next, and, while there is a backlog, what waits behind it, joined up to `most` bytes. None after
        about `timeout` seconds without a batch, or when the end is reached (see `finished`)."""
        if self._away or not self._buffer.empty:
            return self._buffer.get(timeout, most)
        try:
            batch = next(self._batches, None)
            if batch is None and not self._over:
                self._read(timeout)
                if self._buffer.more or self._inserting is not None:
                    self._send_away()
                    return self._buffer.get(timeout, most)
                batch = next(self._batches, None)
            if self._decoder.more:
                self._send_away()
            elif batch is None and self._over:
                self._buffer.end()
            return batch
        except Exception as error:
            self._fail(error)
            return None

    @property
    def low(self) -> bool:
        """Nothing that was read waits to be taken, and no more follows at once."""
        return self._buffer.empty and not self._buffer.more and not self._decoder.more

    def finished(self) -> bool:
        """True once everything was taken and nothing more comes. Raises the error that ended the stream, if any."""
        return self._buffer.finished()

    def join(self) -> None:
        """Waits for the thread, if there is one. Its stream and its buffer are closed before."""
        if self._thread is not None:
            self._thread.join()

    def _send_away(self) -> None:
        """From now on a thread reads, and goes on with what was read last."""
        self._away = True
        self._thread = threading.Thread(target=self._run, name="reader", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            if self._fill() and self._over:
                self._buffer.end()
        except BaseException as error:
            self._fail(error)
        self._away = False
        self._buffer.wake()

    def _fill(self) -> bool:
        """Until the backlog is over, or the stream. False: nobody takes any more."""
        while True:
            for batch in self._batches:
                began = time.monotonic()
                if not self._buffer.put(batch, _SNAPSHOT_BYTES if self._inserting is not None else None):
                    return False
                alone = batch.size > _ALONE_BYTES
                del batch
                if alone:
                    self._buffer.settle()
                self._meter.decode_blocked += time.monotonic() - began
            if self._over or (time.monotonic() > self._backlog_until and self._inserting is None):
                return True
            self._read(_THREAD_PATIENCE)

    @property
    def _inserting(self) -> SnapshotSession | None:
        """The snapshot, while there is more of it to come."""
        return self._snapshot if self._snapshot is not None and self._snapshot.active else None

    def _read(self, timeout: float) -> None:
        snapshot = self._inserting
        if snapshot is not None:
            timeout = min(timeout, snapshot.patience)
        began = time.monotonic()
        try:
            data = self._stream.read(timeout)
        except SourceUnavailable:
            self._decoder.end()
            raise
        self._buffer.more = len(data) >= _BACKLOG_BYTES
        self._status.read(len(data), timeout, backlog=self._buffer.more)
        if self._buffer.more:
            now = time.monotonic()
            self._meter.read += now - began
            self._backlog_until = now + _BACKLOG_SECONDS
        if snapshot is not None and snapshot.waiting:
            self._buffer.more = True
        self._batches = self._decoded(data)

    def _decoded(self, data: bytes) -> Iterator[Batch]:
        """Rows of an unfinished transaction wait for its end while they are few, so that a commit need not come before
        each of them."""
        for batch in self._pieces(data):
            self._status.decoded(batch)
            whole = batch if self._held is None else joined(self._held, batch)
            self._held = None
            if not whole.boundary and whole.size < _HELD_BYTES:
                self._held = whole
                continue
            place = whole.position
            if self._fills is not None:
                whole.filling = self._fills.filling
            if self._seen is not None:
                whole = msgspec.structs.replace(whole, position=self._seen(place, whole.boundary))
            yield whole
            if whole.boundary:
                self._place = place
                self._status.place = place
                yield from self._inserted(between=False)
                if self._is_end(place) or self._held_back:
                    self._ended = True
                    return
        if self._inserting is not None and self._place.boundary and self._decoder.between:
            yield from self._inserted(between=True)
            self._ended = self._is_end(self._place) or self._held_back

    def _inserted(self, *, between: bool) -> Iterator[Batch]:
        snapshot = self._inserting
        if snapshot is None:
            return
        yield from self._meter.decoding(snapshot.insert(self._place, between))
        while snapshot.holds and not (self._stopping.is_set() or self._buffer.closed):
            if snapshot.arrived:
                self._stream.close()  # nothing more is read of it
            snapshot.rest()
            yield from self._meter.decoding(snapshot.insert(self._place, between))

    @property
    def _held_back(self) -> bool:
        """It has to end while the stream waits for a snapshot."""
        snapshot = self._inserting
        return snapshot is not None and snapshot.holds

    def _pieces(self, data: bytes) -> Iterator[Batch]:
        """Batches of as many whole transactions as `data` holds, or of one each, also to meet a given end."""
        exact = self._inserting is not None and self._inserting.exact
        size = _CAREFUL_PIECE if self.careful or self._ends or exact else max(1, len(data))
        for start in range(0, max(1, len(data)), size):  # also when nothing came: an error may be waiting
            if self._snapshot is not None:
                self._snapshot.advance()
            yield from self._fed(data[start : start + size])
            while self._decoder.more and not self._stopping.is_set():
                yield from self._fed(b"")
        self.careful = max(0, self.careful - len(data))

    def _fed(self, data: bytes) -> list[Batch]:
        began = time.monotonic()
        batches = self._decoder.feed(data)
        self._meter.decode += time.monotonic() - began
        return batches

    @property
    def _over(self) -> bool:
        """Nothing is read any more: the given end is reached, or it shall end."""
        return self._ended or self._stopping.is_set()

    def _fail(self, error: BaseException) -> None:
        ended = self._stopping.is_set() and isinstance(error, ReplicatorError)
        self._buffer.end(None if ended else error)
