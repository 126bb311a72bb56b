"""Takes row images apart into the values of their columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import msgspec

from replicator.sink.mysql.row_runs import Run

Change: TypeAlias = "tuple[bytes | None, bytes | None]"
"""(image before, image after)"""
Values: TypeAlias = "tuple[bytes | None, ...]"
"""Without their lengths; None for NULL."""


class Layout(msgspec.Struct, frozen=True):
    """
    Attributes:
        sizes: of each column of the images: bytes of its values; -1 to -4: they are behind a length of 1 to 4 bytes.
        key: columns of the primary key of the target.
        unique: columns of its other unique keys.
        keys: columns of each unique key by which a row that is deleted and one that is inserted may have equal values:
            the primary key only if equal values may differ in bytes. ~column: values of this column may.
    """

    sizes: tuple[int, ...]
    key: tuple[int, ...]
    unique: tuple[int, ...] = ()
    keys: tuple[tuple[int, ...], ...] = ()


def changes(run: Run, layout: Layout) -> Iterator[Change]:
    """Raises ValueError for images that are not whole."""
    at = 0
    while at < len(run.images):
        end = _end(run.images, at, layout)
        first, at = run.images[at:end], end
        if run.operation[-1:] == b"U":
            end = _end(run.images, at, layout)
            yield first, run.images[at:end]
            at = end
        elif run.operation[-1:] == b"D":
            yield first, None
        else:
            yield None, first


def values(b: bytes, layout: Layout) -> list[bytes | None]:
    """Of an image; see `Values`."""
    return values_at(b, layout, 0)[0]


def values_at(b: bytes, layout: Layout, at: int) -> tuple[list[bytes | None], int]:
    """(values, offset behind the image) of the image that begins at `at`. Raises ValueError: it is not whole."""
    bitmap = (len(layout.sizes) + 7) // 8
    nulls = int.from_bytes(b[at : at + bitmap], "little")
    at += bitmap
    found: list[bytes | None] = []
    for column, size in enumerate(layout.sizes):
        if nulls >> column & 1:
            found.append(None)
            continue
        if size < 0:
            at, size = at - size, int.from_bytes(b[at : at - size], "little")
        if at + size > len(b):
            raise ValueError("an image beyond the end of its run")
        found.append(b[at : at + size])
        at += size
    if at > len(b):
        raise ValueError("an image beyond the end of its run")
    return found, at


def iter_values(images: bytes, layout: Layout) -> Iterator[list[bytes | None]]:
    """The values of images that follow each other. Raises ValueError for images that are not whole."""
    at = 0
    while at < len(images):
        found, at = values_at(images, layout, at)
        yield found


def _end(b: bytes, at: int, layout: Layout) -> int:
    """Of the image that begins at `at`."""
    nulls = int.from_bytes(b[at : at + (len(layout.sizes) + 7) // 8], "little")
    at += (len(layout.sizes) + 7) // 8
    for column, size in enumerate(layout.sizes):
        if nulls >> column & 1:
            continue
        at += size if size >= 0 else -size + int.from_bytes(b[at : at - size], "little")
        if at > len(b):
            raise ValueError("an image beyond the end of its run")
    return at
