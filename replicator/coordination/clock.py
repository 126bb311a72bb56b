"""Wall-clock time for records that people read. No decision depends on it."""

from __future__ import annotations

import time


def now_ms() -> int:
    return time.time_ns() // 1_000_000
