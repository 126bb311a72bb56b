"""Batches of one record too long for a copy: sent from where it is, or compressed while its memory is given back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from replicator.kafka.batch import OVERHEAD
from replicator.sink.kafka.compression import Codec
from replicator.sink.kafka.producer_port import Body, LongValue

_SLICE: Final = 1 << 20
"""Bytes that are compressed at a time, and that a piece of what comes out has, about."""
_TRIED: Final = 8 << 20
"""Bytes after which it is decided whether compression helps; a long value has more."""
_WANTED: Final = 0.95
"""Of those, at most so much may be left. What is saved is more than any form adds to the rest, if that does not become
smaller at all, so what was begun need not be undone: the value is gone by then."""


def pieces_of(body: Body) -> list[memoryview]:
    """What the batch is made of, in order. The first begins with room for its header."""
    data = memoryview(body)
    value = body.value
    return [data] if value is None else [data[: body.head], memoryview(value), data[body.head :]]


def compressed_long(body: Body, value: LongValue, codec: Codec) -> list[memoryview] | None:
    """The batch with its records compressed, in pieces; then its value can't be read any more. None, and nothing is
    changed, where they do not become smaller."""
    before, view, behind = pieces_of(body)
    parts: list[memoryview] = []
    part, size = bytearray(OVERHEAD), 0
    helps: bool | None = None

    def taken() -> Iterator[memoryview]:
        nonlocal helps
        yield before[OVERHEAD:]
        for start in range(0, len(view), _SLICE):
            yield view[start : start + _SLICE]
            read = min(start + _SLICE, len(view))
            if helps is None and read >= _TRIED:
                helps = size <= _WANTED * read
            if helps:
                value.release(read)
            elif helps is not None:
                return
        yield behind

    for made in codec.parts(taken()):
        part += made
        size += len(made)
        if len(part) >= _SLICE:
            parts.append(memoryview(part))
            part = bytearray()
    if not helps:
        return None
    return [*parts, memoryview(part)] if part else parts
