"""A thread that confirms what is held every T/6."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

from replicator.errors import CoordinationError

CHECKS_PER_TIMEOUT = 6


class Keeper:
    """Between `__enter__` and `__exit__`. Nothing else runs in its thread, so that no amount of other work makes a
    lease run out.

    Args:
        keep: `Locks.keep`.
    """

    def __init__(self, keep: Callable[[], None], session_timeout: float) -> None:
        self._keep = keep
        self._interval = session_timeout / CHECKS_PER_TIMEOUT
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="locks", daemon=True)

    def __enter__(self) -> Keeper:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(timeout=5)

    def _run(self) -> None:
        while not self._stop.wait(self._interval):
            with contextlib.suppress(CoordinationError):  # the lease ends by itself
                self._keep()
