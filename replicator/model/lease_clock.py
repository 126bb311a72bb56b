"""The clocks that leases run on.

`now` goes on while the host is suspended. CLOCK_MONOTONIC of Linux does not: a host that slept for longer than its
session would wake up with lease left, while its successor writes. Where there is no CLOCK_BOOTTIME the monotonic clock
is taken; that of macOS stands still, too.

`wall` is the second witness: after a standstill that `now` does not count (a suspend without CLOCK_BOOTTIME, a virtual
machine that was paused and then set to the right time) it is ahead. Anybody may set it, so it never extends a lease;
where it says that one is over, ZooKeeper is asked again before anything more is emitted.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

_BOOTTIME: Final[int | None] = getattr(time, "CLOCK_BOOTTIME", None)


def _boottime() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


now: Callable[[], float] = _boottime if _BOOTTIME is not None else time.monotonic
"""Seconds since some moment in the past, the same for all processes of a host (and of a time namespace)."""


def wall() -> float:
    """Seconds since 1970."""
    return time.time()
