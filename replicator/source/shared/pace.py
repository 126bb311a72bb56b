"""When the writer of a ring may overwrite what some of its readers have not read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_STEP: Final = 0.002
_PATIENCE: Final = 0.5
_RENEWED: Final = 0.02
"""Seconds of patience that come back in a second."""


class Pace:
    """The writer never leaves all readers behind: without one that keeps up, nothing is gained by reading on, and the
    source is held back as by a task that reads its own stream. For some while others keep up, it waits half a second;
    that much comes back in 25 s. So a burst costs nobody the shared stream, and a slow task holds up nobody for long.
    """

    def __init__(self) -> None:
        self._left = _PATIENCE
        self._at = 0.0

    def wait(self, floor: int, after: int, cursors: Sequence[int], now: float) -> float:
        """Seconds to wait before it is asked again; 0: go on.

        Args:
            floor: beginning of what can be read.
            after: the same once the writer has gone on.
            cursors: of the readers; those before `floor` are lost already.
        """
        self._left = min(_PATIENCE, self._left + max(0.0, now - self._at) * _RENEWED)
        self._at = now
        readers = [cursor for cursor in cursors if cursor >= floor]
        if not readers or min(readers) >= after:
            return 0.0
        if max(readers) < after:
            return _STEP
        if self._left <= 0:
            return 0.0
        self._left -= _STEP
        return _STEP
