"""Settings of the C library's allocator: one arena, memory kept during a backlog and released after it.

Records live in pieces of up to some megabytes, which one thread takes and another gives back milliseconds later. Left
alone, glibc keeps such pieces apart for each thread, and hands them to the system and takes them from it all the time:
a sixth of the processor time of a backlog. So there is one place for all threads, which keeps what it has; and once the
backlog is over it is emptied.
"""

from __future__ import annotations

import ctypes
import gc
from functools import cache
from typing import Any, Final

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # of malloc.h
_KEPT: Final = 48 << 20
_PIECE: Final = 32 << 20  # the largest that glibc takes for this
_QUIET_SECONDS: Final = 2.0
_AGAIN_SECONDS: Final = 10.0


@cache
def keep() -> None:
    """Of this process, from now on. Without effect where the C library is not glibc."""
    library = _library()
    if library is not None:
        library.mallopt(_ARENA_MAX, 1)
        library.mallopt(_MMAP_THRESHOLD, _PIECE)
        library.mallopt(_TRIM_THRESHOLD, _KEPT)


def release() -> None:
    """Gives back what is free."""
    library = _library()
    if library is not None:
        library.malloc_trim(0)


class IdleRelease:
    """Gives back what is left behind when a task becomes quiet: what opening its clients took, later each burst.
    Garbage in cycles is looked for among what is young, which takes a millisecond."""

    def __init__(self) -> None:
        self._amount = -1
        self._since = 0.0
        self._next = 0.0
        self._due = True

    def seen(self, amount: int, now: float) -> bool:
        """amount: of what was delivered so far; now: monotonic seconds. Asked several times a second. True when memory
        was given back."""
        if amount != self._amount:
            self._amount, self._since, self._due = amount, now, True
        if not self._due or now - self._since < _QUIET_SECONDS or now < self._next:
            return False
        gc.collect(1)
        release()
        self._due, self._next = False, now + _AGAIN_SECONDS
        return True


@cache
def _library() -> Any:
    try:
        library = ctypes.CDLL(None)
        return library if library.mallopt and library.malloc_trim else None
    except (AttributeError, OSError, TypeError):
        return None
