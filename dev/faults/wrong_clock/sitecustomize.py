"""Imported by every Python process that finds this folder in its path: its wall clock is off, its monotonic clock is
everybody's. (libfaketime of Debian 12 breaks Python's sleep: clock_nanosleep with an absolute time gives EINVAL.)

Where a file is named, CLOCK_BOOTTIME has stood still for the seconds that are written in it, as it does in a virtual
machine that is paused."""

import os
import time
from pathlib import Path

_STILL = os.environ.get("REPLICATOR_STILL_CLOCK", "")
_SHIFT = int(os.environ.get("REPLICATOR_WRONG_CLOCK_S", "0"))
_time, _time_ns = time.time, time.time_ns
time.time = lambda: _time() + _SHIFT
time.time_ns = lambda: _time_ns() + _SHIFT * 1_000_000_000

if _STILL:
    _gettime = time.clock_gettime

    def _still() -> float:
        try:
            return float(Path(_STILL).read_text() or 0)
        except OSError:
            return 0.0

    def _clock_gettime(clock: int) -> float:
        return _gettime(clock) - (_still() if clock == time.CLOCK_BOOTTIME else 0.0)

    time.clock_gettime = _clock_gettime
