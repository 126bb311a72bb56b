"""SIGTERM and SIGINT of a process that ends in order, and at once when it is asked again."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType


def on_stop_signals(name: str, stop: Callable[[], None]) -> None:
    """Calls `stop` at the first of these signals; at the second one the process ends with 128 and its number."""
    asked = False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            sys.stderr.write(f"{name}: ends immediately\n")
            os._exit(128 + number)
        asked = True
        stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handle)
