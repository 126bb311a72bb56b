"""The order in which workers take test files: those that mostly wait beside those that compute.

A worker takes the next file when it is done with one. If those with real processes were behind each other, all workers
would wait at one time and compute at another, and the longest of them would end alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def in_order(
    items: Sequence[T], file: Callable[[T], str], waits: Callable[[str], bool], limit: Callable[[T], float]
) -> list[T]:
    """
    Args:
        items: tests, as they were collected.
        file: of a test.
        waits: whether the tests of a file mostly wait.
        limit: seconds that a test may take: files with long ones come first.

    Returns:
        All tests of a file behind each other. Of any part of the files, from the first on, the same share waits.
    """
    files: dict[str, list[T]] = {}
    for item in items:
        files.setdefault(file(item), []).append(item)
    waiting = sorted((name for name in files if waits(name)), key=lambda name: -max(map(limit, files[name])))
    rest = [name for name in files if not waits(name)]
    places = [(index / max(len(names), 1), name) for names in (waiting, rest) for index, name in enumerate(names)]
    return [item for _, name in sorted(places, key=lambda place: place[0]) for item in files[name]]
