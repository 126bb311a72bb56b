"""Wall-clock time for records that people read. No decision depends on it."""

from __future__ import annotations

import time


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def utc(time_ms: int) -> str:
    """For people: `2026-11-25 12:00:00 UTC`."""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(time_ms / 1000))
