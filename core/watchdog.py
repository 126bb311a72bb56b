"""Detects a worker process that has stopped running: frozen, swapped out, or blocked in one call."""

from __future__ import annotations

STUCK_SECONDS = 10.0
"""A worker's threads run several times a second; a step of the decoder takes milliseconds."""


class Watchdog:
    """Asked again and again with the worker's counter of life. Only silence that we have watched counts: after a pause
    of our own (the host was frozen, too) the worker gets its time again.

    Args:
        limit: seconds of silence after which a worker is stuck.
    """

    def __init__(self, limit: float = STUCK_SECONDS) -> None:
        self._limit = limit
        self._beat = float("nan")
        self._since = self._asked = 0.0

    def stuck(self, beat: float, now: float) -> bool:
        """beat: any value that changes while the worker lives; now: monotonic seconds."""
        if beat != self._beat or now - self._asked > self._limit / 2:
            self._beat, self._since = beat, now
        self._asked = now
        return now - self._since > self._limit
