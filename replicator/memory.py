"""What the C library keeps of the memory that has been given back to it.

Records live in pieces of up to some megabytes, which one thread takes and another gives back milliseconds later. Left
alone, glibc keeps such pieces apart for each thread, and hands them to the system and takes them from it all the time:
a sixth of the processor time of a backlog. So there is one place for all threads, which keeps what it has; and once the
backlog is over it is emptied.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, Final

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # of malloc.h
_KEPT: Final = 48 << 20
_PIECE: Final = 32 << 20  # the largest that glibc takes for this


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


@cache
def _library() -> Any:
    try:
        library = ctypes.CDLL(None)
        return library if library.mallopt and library.malloc_trim else None
    except (AttributeError, OSError, TypeError):
        return None
