"""The queue between reading and delivering: bounded in bytes, ends with a reason."""

from __future__ import annotations

import threading
from collections import deque

from replicator.model.batch import Batch


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
        self._batches: deque[Batch] = deque()
        self._closed = False
        self._error: BaseException | None = None
        self._changed = threading.Condition()

    def put(self, batch: Batch) -> bool:
        """False when the consumer is gone: stop."""
        with self._changed:
            while self._size and self._size + batch.size > self._limit and not self._closed:
                self._changed.wait()
            if self._closed:
                return False
            self._batches.append(batch)
            self._size += batch.size
            self._changed.notify_all()
            return True

    def get(self, timeout: float) -> Batch | None:
        """None after `timeout` seconds without a batch, or when the end is reached (see `finished`)."""
        with self._changed:
            if not self._batches and not self._closed:
                self._changed.wait(timeout)
            if not self._batches:
                return None
            batch = self._batches.popleft()
            self._size -= batch.size
            self._changed.notify_all()
            return batch

    def end(self, error: BaseException | None = None) -> None:
        """From the producer: nothing more comes, because of `error` or, without one, because it was asked to stop."""
        with self._changed:
            if not self._closed:
                self._closed, self._error = True, error
            self._changed.notify_all()

    def abandon(self) -> None:
        """From the consumer: nothing more is taken; a blocked `put` returns False."""
        with self._changed:
            self._closed = True
            self._batches.clear()
            self._size = 0
            self._changed.notify_all()

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
