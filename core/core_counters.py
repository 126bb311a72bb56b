"""Counts what happens to the tasks of a Core and must not happen often. The counters survive the workers."""

from __future__ import annotations

import threading
from collections import Counter

from replicator.coordination.records import CoreCounts
from replicator.model.core_events import FencedBy, NotWritten, unsupported_type


class CoreCounters:
    """Thread-safe; from 0 at the start of the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._fenced: Counter[str] = Counter()
        self._failures: Counter[str] = Counter()
        self._unsupported: Counter[str] = Counter()

    def fenced(self, layer: FencedBy) -> None:
        with self._lock:
            self._fenced[layer] += 1

    def checkpoint_failed(self, reason: NotWritten) -> None:
        with self._lock:
            self._failures[reason] += 1

    def refused(self, error: dict[str, str]) -> None:
        """A task, or a table of it, has stopped at this error. Counts it if the source has sent what is not
        supported."""
        kind = unsupported_type(error.get("code", ""))
        if kind is not None:
            with self._lock:
                self._unsupported[kind] += 1

    def counts(self) -> CoreCounts:
        with self._lock:
            return CoreCounts(dict(self._fenced), dict(self._failures), dict(self._unsupported))
