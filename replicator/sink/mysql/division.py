"""Divides the net changes of a table into parts that may be executed at the same time.

Of one row there is one net change, so any row may be in any part. Two net changes meet where one deletes a row, and
the other inserts one with an equal value of a unique key: an update that changes such a value is no net change. Equal
is what the target says: 'a' and 'A' in most collations, 0.0 and -0.0. So only columns whose equal values have equal
bytes tell rows apart, and rows that may meet are in the first part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from replicator.model import types
from replicator.model.table import Column
from replicator.sink.mysql.image_values import Layout, Values, values

Key: TypeAlias = "tuple[bytes | None, ...]"
Sum: TypeAlias = "tuple[bytes | None, bytes | None]"
"""(image before, image after) of a row; one of them is None: it is inserted, or deleted."""
_MASK: Final = (1 << 64) - 1
_OFFSET: Final = 0xCBF29CE484222325
_FACTOR: Final = 0x9E3779B97F4A7C15
_EXACT: Final = frozenset(
    {
        types.TINY,
        types.SHORT,
        types.INT24,
        types.LONG,
        types.LONGLONG,
        types.YEAR,
        types.DATE,
        types.NEWDATE,
        types.TIME,
        types.TIMESTAMP,
        types.DATETIME,
        types.TIME2,
        types.TIMESTAMP2,
        types.DATETIME2,
        types.BIT,
        types.ENUM,
        types.SET,
    }
)
_BINARY: Final = 63
"""The collation of bytes."""


def is_exact(column: Column) -> bool:
    """Whether equal values have equal bytes."""
    return column.type in _EXACT or (column.type in types.CHARACTERS and column.collation == _BINARY)


def places(sums: Mapping[Key, Sum], layout: Layout, count: int) -> dict[Key, int]:
    """The part of each row. See `compiled/net_rows.pyx`, which has to say the same.

    Rows that follow each other at the source are in one part: new ones mostly have ascending keys, so that each
    connection fills other pages, from the left to the right. By a hash they would fill, and split, the same ones.
    """
    if count == 1:
        return dict.fromkeys(sums, 0)
    together = _meeting(sums, layout)
    kept, free = len(together), [key for key in sums if key not in together]
    if kept * count < len(sums):
        found = {key: (kept + index) * count // len(sums) for index, key in enumerate(free)}
    else:  # the first part has its share
        found = {key: 1 + index * (count - 1) // len(free) for index, key in enumerate(free)}
    return found | dict.fromkeys(together, 0)


def _meeting(sums: Mapping[Key, Sum], layout: Layout) -> set[Key]:
    deleted: dict[int, list[Key]] = {}
    inserted: dict[int, list[Key]] = {}
    for key, (before, after) in sums.items():
        if before is not None and after is not None:
            continue
        image = before if before is not None else after
        assert image is not None, "a change"  # noqa: S101
        row = values(image, layout)
        for number, unique in enumerate(layout.keys):
            hashed = _hash_of(unique, number, row)
            if hashed is not None:
                (inserted if before is None else deleted).setdefault(hashed, []).append(key)
    return {key for hashed in deleted.keys() & inserted.keys() for key in (*deleted[hashed], *inserted[hashed])}


def _hash_of(unique: tuple[int, ...], number: int, row: list[bytes | None] | Values) -> int | None:
    """None: a value is NULL, which equals nothing."""
    found = number
    for place in unique:
        value = row[place if place >= 0 else ~place]
        if value is None:
            return None
        if place >= 0:
            found = (found ^ _hashed_long(value)) * _FACTOR & _MASK
            found ^= found >> 29
    return found


def _hashed_long(raw: bytes) -> int:
    found, whole = _OFFSET, len(raw) // 8 * 8
    for at in range(0, whole, 8):
        found = (found ^ int.from_bytes(raw[at : at + 8], "little")) * _FACTOR & _MASK
        found ^= found >> 29
    return (found ^ int.from_bytes(raw[whole:], "little")) * _FACTOR & _MASK
