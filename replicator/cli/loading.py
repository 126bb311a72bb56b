"""Handles Ctrl-C while code is loaded and settings are read.

KeyboardInterrupt is raised in whatever runs at that moment. Libraries that are not written in Python may drop it and go
on with half of what they were making: pydantic then takes a right configuration for a wrong one. Nothing has begun yet,
so the process ends at once instead.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from replicator.cli.failures import INTERRUPTED


@contextmanager
def loading() -> Iterator[None]:
    """A handler that is installed already, or SIG_IGN, stays."""
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
