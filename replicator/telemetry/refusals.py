"""Counts requests that are refused before the application sees them, by client address, for an audit.

Whoever sends such requests decides how many there are. So each address has one count for each kind of refusal, which is
reported at once and then once a minute; memory and reports are bounded, and nothing is left out of the sum.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from replicator.telemetry.connection_limits import network

SECONDS: Final = 60.0
"""Between two reports of the same address and kind."""
KEPT: Final = 256
OTHERS: Final = "other addresses"
"""Those that are counted together, once so many have a count of their own."""

Note: TypeAlias = Callable[[str, int, str], None]
"""Called with the client's address, the status of the answer, and the code of the error."""


class Refusal(NamedTuple):
    """address: the last one of its network; requests: their number since the last report."""

    address: str
    status: int
    code: str
    requests: int


class _Count:
    __slots__ = ("address", "count", "not_before")

    def __init__(self) -> None:
        self.address = OTHERS
        self.count = 0
        self.not_before = 0.0


class Refusals:
    """Thread-safe. `clock`: monotonic seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._counts: dict[tuple[str, int, str], _Count] = {}

    def note(self, address: str, status: int, code: str) -> None:
        key = (network(address), status, code)
        with self._lock:
            if key not in self._counts and len(self._counts) >= KEPT:
                key, address = (OTHERS, status, code), OTHERS
            count = self._counts.setdefault(key, _Count())
            count.address = address
            count.count += 1

    def take(self, allowed: Callable[[], bool] = lambda: True) -> list[Refusal]:
        """Those that are to be reported now, longest known first. `allowed`: asked before each; what is not reported
        is counted on."""
        found = []
        now = self._clock()
        with self._lock:
            for key, count in list(self._counts.items()):
                if now < count.not_before:
                    continue
                if not count.count:
                    del self._counts[key]
                elif allowed():
                    found.append(Refusal(count.address or "unknown", key[1], key[2], count.count))
                    count.count, count.not_before = 0, now + SECONDS
        return found


def nowhere(address: str, status: int, code: str) -> None:
    """The `Note` of a process without an audit."""
