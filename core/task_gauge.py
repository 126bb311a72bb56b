"""Position and rates of one task, from the messages of its worker."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from core.protocol import Progress
from replicator.model.checkpoint import Checkpoint

STALE_SECONDS = 3.0
"""Rates over a longer pause than this begin anew."""


class TaskGauge:
    """Thread-safe. Rates are over the time between two readings."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        """A new worker counts from nothing."""
        with self._lock:
            self.last: Progress | None = None
            self.position = ""
            self.waiting: dict[str, str] | None = None
            self._read_at = 0.0
            self._read_rows = self._read_bytes = 0
            self._rates = (0.0, 0.0)

    def note(self, progress: Progress) -> None:
        with self._lock:
            self.last = progress
            self.position = str(progress.checkpoint.position)

    def streaming(self, position: str) -> None:
        with self._lock:
            self.waiting = None
            if self.last is None:
                self.position = position

    def wait(self, error: dict[str, str]) -> None:
        with self._lock:
            self.waiting = error

    @property
    def checkpoint(self) -> Checkpoint | None:
        with self._lock:
            return self.last.checkpoint if self.last else None

    def rates(self) -> tuple[float, float]:
        """Rows and bytes per second since the last reading."""
        with self._lock:
            now = self._clock()
            rows, size = (self.last.rows, self.last.bytes) if self.last else (0, 0)
            passed = now - self._read_at
            if passed < 0.2:
                return self._rates
            if self._read_at and passed < STALE_SECONDS:
                self._rates = ((rows - self._read_rows) / passed, (size - self._read_bytes) / passed)
            else:
                self._rates = (0.0, 0.0)
            self._read_at, self._read_rows, self._read_bytes = now, rows, size
            return self._rates
