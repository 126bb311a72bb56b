"""Sizes of a snapshot's chunks, by bytes and by time, and the limit of rows per second."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from replicator.pipeline.ports import Chunk

BUDGET_BYTES: Final = 6 << 20
"""Of row images that are read and not delivered, over all connections, as far as sizes can be foreseen."""
_LARGEST_BYTES: Final = 2 << 20
_TARGET_S: Final = 0.5
_FIRST_ROWS: Final = 500
_GROWTH: Final = 4


class ChunkSizes:
    """How many rows of one table are read at a time: as many as take half a second, and not more than about 2 MB; of
    several connections each has its part of the budget.

    Args:
        most: rows.
        row_bytes: of an average row as the source estimates it; 0: unknown.
        connections: that read at the same time.

    Attributes:
        rows: to ask for next.
        known: a chunk of the table was read.
    """

    def __init__(self, most: int, row_bytes: int = 0, connections: int = 1) -> None:
        self._most = most
        self._bytes = min(_LARGEST_BYTES, BUDGET_BYTES // (connections + 1))
        self._row_bytes = float(row_bytes)
        self.rows = max(1, min(_FIRST_ROWS, most, self._bytes // max(row_bytes, 1)))
        self.known = False

    @property
    def expected(self) -> int:
        """Bytes of the next chunk."""
        return int(self.rows * self._row_bytes)

    def read(self, chunk: Chunk, seconds: float = 0.0) -> None:
        """`seconds`: that the source took for finding where the chunk ends, besides those of the chunk."""
        self.known = True
        size = len(chunk.images.data)
        covered = max(len(chunk.images), chunk.covered)
        if not covered:
            return
        self._row_bytes = max(size / covered, self._row_bytes / 2)  # longer rows count at once
        fitting = min(self._bytes * covered / max(size, 1), covered * _TARGET_S / max(seconds + chunk.seconds, 1e-6))
        self.rows = max(1, min(self._most, int(fitting), self.rows * _GROWTH))


class Throttle:
    """Keeps the rows that are read, by all connections, below `rows_per_s`; 0: no limit.

    Args:
        sleep: waits so many seconds.
    """

    def __init__(self, rows_per_s: int, sleep: Callable[[float], None]) -> None:
        self._rows_per_s = rows_per_s
        self._sleep = sleep
        self._due = time.monotonic()

    def spend(self, rows: int) -> None:
        """So many were read."""
        if self._rows_per_s:
            self._due = max(self._due, time.monotonic() - 1.0) + rows / self._rows_per_s

    def wait(self) -> None:
        """Until more may be read."""
        left = self._due - time.monotonic()
        if self._rows_per_s and left > 0:
            self._sleep(left)
