"""Counts durations in fixed buckets."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Sequence

import msgspec


class Histogram(msgspec.Struct, frozen=True, array_like=True):
    """`counts`: durations by bucket, one for each upper bound and one for longer ones, without zeros at the end.
    `sum_ms`: of all durations."""

    counts: tuple[int, ...] = ()
    sum_ms: int = 0

    @property
    def count(self) -> int:
        return sum(self.counts)

    def cumulative(self, bounds: Sequence[float]) -> tuple[int, ...]:
        """Number of durations up to each of the bounds, at last of all."""
        found, total = [], 0
        for index in range(len(bounds) + 1):
            total += self.counts[index] if index < len(self.counts) else 0
            found.append(total)
        return tuple(found)


class HistogramMeter:
    """Thread-safe. `bounds`: upper bounds of the buckets, seconds, ascending."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self._lock = threading.Lock()
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def observe(self, seconds: float) -> None:
        index = bisect_left(self._bounds, seconds)
        with self._lock:
            self._counts[index] += 1
            self._sum += seconds

    def histogram(self) -> Histogram:
        with self._lock:
            counts, total = list(self._counts), self._sum
        while counts and not counts[-1]:
            counts.pop()
        return Histogram(tuple(counts), round(total * 1000))
