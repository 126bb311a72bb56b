"""Fills the gaps between what a process has in use, before others are forked from it.

What is imported leaves holes everywhere, in pages that workers share. Each worker would take its first megabytes from
them, a few bytes of each page, and so copy the page: 3 MB in all. With the gaps taken for good, what a worker makes
stands together, in pages of its own. Nothing here is needed: another allocator than CPython's or glibc's is left alone.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from itertools import pairwise, repeat
from typing import Any, Final

_POOL: Final = (16 << 10) - 48  # bytes of a pool of pymalloc (Objects/obmalloc.c) without its header
_SMALL: Final = range(16, 513, 16)  # sizes of the blocks of a pool
_MOST: Final = 256 << 10  # bytes of each size: a twentieth is usual
_BYTES: Final = 33  # of an empty bytes object

_LARGEST: Final = 120 << 10  # what is larger, glibc takes from the system
_LEAST: Final = 64
_TRIES: Final = 20_000

_kept: list[object] = []


class _Info(ctypes.Structure):
    """struct mallinfo2 of malloc.h (glibc 2.33); keepcost: free bytes at the end of the heap."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
        )
    )  # fmt: skip


def fill() -> tuple[int, int]:
    """Returns how many bytes were taken of pymalloc and of the C library."""
    return sum(map(_fill_pools, _SMALL)), _fill_heap()


def _fill_pools(size: int) -> int:
    """Until a whole pool comes, which is taken only when no other has a free block of this size."""
    taken = 0
    make, blocks = _maker(size), _POOL // size
    while taken < _MOST:
        made = [make() for _ in repeat(None, 2 * blocks)]
        _kept.append(made)
        taken += 2 * blocks * size
        if _in_a_row(sorted(map(id, made)), size) >= blocks:
            break
    return taken


def _maker(size: int) -> Callable[[], object]:
    if size == 16:
        return object
    if size == 32:
        return (1.5).__neg__  # a float has 24 bytes
    return bytes(size - _BYTES).upper  # a new object each time


def _in_a_row(places: list[int], size: int) -> int:
    most = run = 1
    for place, after in pairwise(places):
        run = run + 1 if after - place == size else 1
        most = max(most, run)
    return most


def _fill_heap() -> int:
    library = _glibc()
    if library is None:
        return 0
    taken, size = 0, _LARGEST
    for _ in range(_TRIES):
        end = library.sbrk(0) - library.mallinfo2().keepcost
        place = library.malloc(size) or end
        if end - (1 << 30) < place < end:
            taken += size
            continue
        if place != end:
            library.free(place)
        if size <= _LEAST:
            break
        size = max(_LEAST, size * 4 // 5 & ~15)
    return taken


def _glibc() -> Any:
    try:
        library = ctypes.CDLL(None)
        library.malloc.restype = library.sbrk.restype = ctypes.c_void_p
        library.malloc.argtypes, library.free.argtypes = [ctypes.c_size_t], [ctypes.c_void_p]
        library.mallinfo2.restype = _Info
    except (AttributeError, OSError, TypeError):
        return None
    return library
