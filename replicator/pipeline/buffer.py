"""The bounded queue of batches between the reader thread and the delivery thread."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence

from replicator.model.batch import Batch, Record
from replicator.model.packed_records import PackedRecords

_GATHER_SECONDS = 0.005
"""How long a batch waits for the one that follows at once: a write of several costs little more than of one."""


class Buffer:
    """Batches from one producer thread to one consumer thread.

    Args:
        limit: bytes of keys and values; `put` blocks while it is exceeded (one batch always fits).

    Attributes:
        more: the producer's hint that the next batch follows at once.
    """

    def __init__(self, limit: int) -> None:
        self.more = False
        self._limit = limit
        self._size = 0
        self._taken = False  # what `get` gave last is being delivered
        self._batches: deque[Batch] = deque()
        self._closed = False
        self._error: BaseException | None = None
        self._changed = threading.Condition()

    def put(self, batch: Batch, most: int | None = None) -> bool:
        """False when the consumer is gone: stop. `most`: bytes, instead of `limit` where that is more."""
        limit = self._limit if most is None else min(most, self._limit)
        with self._changed:
            while self._size and self._size + batch.size > limit and not self._closed:
                self._changed.wait()
            if self._closed:
                return False
            self._batches.append(batch)
            self._size += batch.size
            self._changed.notify_all()
            return True

    def settle(self) -> None:
        """From the producer: waits until the consumer has nothing of what was put and asks for more."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or not (self._batches or self._taken))

    def get(self, timeout: float, most: int = 0) -> Batch | None:
        """What comes next, and what waits behind it or follows at once, joined up to `most` bytes. None after `timeout`
        seconds without a batch, or when woken, or when the end is reached (see `finished`)."""
        with self._changed:
            if self._taken:
                self._taken = False
                self._changed.notify_all()
            if not self._batches and not self._closed:
                self._changed.wait(timeout)
            if not self._batches:
                return None
            batch = self._batches.popleft()
            until = time.monotonic() + _GATHER_SECONDS
            while True:
                while self._batches and _may_join(batch, self._batches[0], most):
                    batch = joined(batch, self._batches.popleft())
                full = self._batches or batch.size > most * 2 // 3 or self._closed or not self.more
                if full or not self._changed.wait(until - time.monotonic()):
                    break
            self._size -= batch.size
            self._taken = True
            self._changed.notify_all()
            return batch

    def end(self, error: BaseException | None = None) -> None:
        """From the producer: nothing more comes, because of `error` or, without one, because it was asked to stop."""
        with self._changed:
            if not self._closed:
                self._closed, self._error = True, error
            self._changed.notify_all()

    def wake(self) -> None:
        """From the producer: whoever waits in `get` comes back, with nothing if there is nothing."""
        with self._changed:
            self._changed.notify_all()

    def abandon(self) -> None:
        """From the consumer: nothing more is taken; a blocked `put` returns False."""
        with self._changed:
            self._closed = True
            self._batches.clear()
            self._size = 0
            self._changed.notify_all()

    @property
    def closed(self) -> bool:
        """Nothing is put any more."""
        return self._closed

    @property
    def empty(self) -> bool:
        return not self._batches

    @property
    def size(self) -> int:
        return self._size

    def finished(self) -> bool:
        """True once everything was taken and nothing more comes. Raises the error that ended the stream, if any."""
        with self._changed:
            if self._batches or not self._closed:
                return False
            if self._error is not None:
                raise self._error
            return True


def _may_join(first: Batch, second: Batch, most: int) -> bool:
    """Not whole transactions with the beginning of another one: they may be committed without it. A statement has to be
    executed apart."""
    if first.barrier or second.barrier:
        return False
    return first.size + second.size <= most and (second.boundary or not first.boundary)


def joined(first: Batch, second: Batch) -> Batch:
    """`second` comes right behind `first`."""
    return Batch(
        _one_behind_the_other(first.records, second.records),
        second.position,
        second.boundary,
        first.rows + second.rows,
        first.transactions + second.transactions,
        first.size + second.size,
        second.source_ms or first.source_ms,
        second.length,
        first.barrier,
        first.skipped + second.skipped,
        first.filling or second.filling,
        first.first_ms or second.first_ms,
    )


def _one_behind_the_other(first: Sequence[Record], second: Sequence[Record]) -> Sequence[Record]:
    if isinstance(first, PackedRecords) and isinstance(second, PackedRecords):
        return first + second
    if not first or not second:
        return first or second
    return [*first, *second]
