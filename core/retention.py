"""Measures how long the source will retain the binlog that a task still needs."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Protocol

from replicator.errors import ReplicatorError
from replicator.model.checkpoint import Checkpoint
from replicator.pipeline.ports import Source

FIRST_SECONDS, INTERVAL = 5.0, 60.0


class Progressing(Protocol):
    """The worker's store: `load` gives the latest checkpoint."""

    retention_headroom_s: float | None

    def load(self) -> Checkpoint | None: ...


class Speed:
    """Seconds of the source's log delivered in a second, over the time between two looks."""

    def __init__(self) -> None:
        self._last: tuple[float, int] | None = None

    def over(self, now: float, source_ms: int) -> float:
        """`now`: monotonic s; 1.0 for the first look, as nothing says that we fall behind."""
        last, self._last = self._last, (now, source_ms)
        if last is None or now <= last[0] or not source_ms:
            return 1.0
        return max(0.0, (source_ms - last[1]) / 1000 / (now - last[0]))


class RetentionWatch:
    """Asks the source now and then. One that does not answer leaves the last figure: the data path meets the same
    source, and says so."""

    def __init__(self, source: Source, store: Progressing, clock: Callable[[], float] = time.monotonic) -> None:
        self._source = source
        self._store = store
        self._clock = clock
        self._speed = Speed()
        self._due = clock() + FIRST_SECONDS

    def round(self) -> None:
        """Asks, if that is due."""
        now, checkpoint = self._clock(), self._store.load()
        if now < self._due:
            return
        self._due = now + INTERVAL
        if checkpoint is None:
            return
        behind = max(0.0, time.time() - checkpoint.source_ms / 1000) if checkpoint.source_ms else 0.0
        pace = self._speed.over(now, checkpoint.source_ms)
        with contextlib.suppress(ReplicatorError):
            self._store.retention_headroom_s = self._source.retention_headroom(checkpoint.position, behind, pace)
