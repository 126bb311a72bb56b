"""Delays between attempts: exponential, with jitter."""

from __future__ import annotations

import random


class Backoff:
    """Doubling waits with jitter, in seconds. Not tenacity: the wait must be interruptible by a drain, and the number
    of tries has no end."""

    def __init__(self, first: float = 0.2, most: float = 10.0) -> None:
        self._first, self._most = first, most
        self._wait = first

    def next(self) -> float:
        wait, self._wait = self._wait, min(self._wait * 2, self._most)
        return wait * random.uniform(0.75, 1.25)  # noqa: S311  # spreads retries, decides nothing

    def reset(self) -> None:
        self._wait = self._first
