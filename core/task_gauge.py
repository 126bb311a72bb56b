"""Position, rates, lag and retries of one task, from the messages of its worker."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from core.protocol import Progress, Status
from core.retries import Retries
from replicator.coordination.clock import now_ms
from replicator.model.activity import Activity
from replicator.model.behind import Behind
from replicator.model.checkpoint import Checkpoint
from replicator.model.lag import Lag, lag
from replicator.model.retrying import Retrying

STALE_SECONDS = 3.0
"""Rates over a longer pause than this begin anew."""
_FRESH_MS = 1500
"""A status that is not older holds as of its own time: what waited then is delivered since, or comes with the next."""


class TaskGauge:
    """Thread-safe. Rates are over the time between two readings."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, wall_ms: Callable[[], int] = now_ms) -> None:
        self._clock = clock
        self._wall_ms = wall_ms
        self._lock = threading.Lock()
        self.retries = Retries()
        self.reset()

    def reset(self, sink: str = "", *, same_term: bool = False) -> None:
        """A new worker counts from nothing. What is retried remains during a term: until something flows, nothing has
        changed for consumers. `sink`: type of the task's sink."""
        with self._lock:
            self.last: Progress | None = None
            self.position = ""
            self._status: Status | None = None
            self.retries.begin(sink, same_term=same_term)
            self._read_at = 0.0
            self._read_rows = self._read_bytes = 0
            self._rates = (0.0, 0.0)

    def note(self, progress: Progress) -> None:
        with self._lock:
            self.last = progress
            self.position = str(progress.checkpoint.position)

    def streaming(self, position: str) -> None:
        with self._lock:
            if self.last is None:
                self.position = position

    def wait(self, error: dict[str, str]) -> None:
        with self._lock:
            self.retries.failed(error, self._wall_ms())

    def status(self, status: Status) -> None:
        with self._lock:
            self._status = status
            self.retries.seen(status, self._wall_ms())

    def lag(self) -> Lag:
        with self._lock:
            facts, now = self._status.lag if self._status else None, self._wall_ms()
        fresh = facts is not None and abs(now - facts.at_ms) < _FRESH_MS
        return lag(facts, facts.at_ms if facts is not None and fresh else now)

    @property
    def skew_s(self) -> float | None:
        """Seconds that the source's clock is ahead of ours."""
        with self._lock:
            skew_ms = self._status.lag.skew_ms if self._status else None
        return None if skew_ms is None else skew_ms / 1000

    @property
    def shared(self) -> bool | None:
        """Whether the source is read over a connection that tasks share; None: not known."""
        with self._lock:
            return self._status.shared if self._status else None

    @property
    def behind(self) -> Behind:
        with self._lock:
            return self._status.behind if self._status else Behind()

    @property
    def activity(self) -> Activity | None:
        """None before the worker has reported."""
        with self._lock:
            return self._status.activity if self._status else None

    def retrying(self) -> Retrying | None:
        with self._lock:
            return self.retries.present(self._wall_ms())

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
