"""How old the reports of machines are, by the clock of the process that reads them.

A report is a write of the machine's node. What counts is when this process first saw the node as it is, so that clocks
of other hosts do not matter. Of a node that is seen for the first time, only other nodes say how old it is: ZooKeeper
stamps all of them with one clock, and a machine that lives writes once a second.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

from replicator.coordination.ports import Stat


class ReportAges:
    """Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[int, float]] = {}  # name -> mzxid, monotonic time at which it was written or seen

    def see(self, stats: Mapping[str, Stat]) -> None:
        """These are all nodes now."""
        now = self._clock()
        with self._lock:
            last_ms = max((stat.mtime_ms for stat in stats.values()), default=0)
            for name, stat in stats.items():
                known = self._seen.get(name)
                if known is None:
                    self._seen[name] = stat.mzxid, now - (last_ms - stat.mtime_ms) / 1000
                elif known[0] != stat.mzxid:
                    self._seen[name] = stat.mzxid, now
            self._seen = {name: seen for name, seen in self._seen.items() if name in stats}

    def of(self, name: str) -> float:
        """Seconds since the last report of the machine was written, as far as it is known; 0.0: never seen."""
        with self._lock:
            seen = self._seen.get(name)
        return max(0.0, self._clock() - seen[1]) if seen is not None else 0.0
