"""Imported by every Python process that finds this folder in its path: its wall clock is off, its monotonic clock is
everybody's. (libfaketime of Debian 12 breaks Python's sleep: clock_nanosleep with an absolute time gives EINVAL.)"""

import os
import time

_SHIFT = int(os.environ.get("REPLICATOR_WRONG_CLOCK_S", "0"))
_time, _time_ns = time.time, time.time_ns
time.time = lambda: _time() + _SHIFT
time.time_ns = lambda: _time_ns() + _SHIFT * 1_000_000_000
