"""Order of the values of a column in row images, for newest_wins."""

from __future__ import annotations

from typing import Final

from replicator.model import types
from replicator.model.table import Column

_BIG_ENDIAN: Final = frozenset({types.DATETIME2, types.TIMESTAMP2, types.TIME2})
_LITTLE_ENDIAN: Final = frozenset({types.DATE, types.YEAR})
_LEAST: Final = -(1 << 64)
"""NULL is older than everything."""


def usable(column: Column) -> bool:
    return column.type in types.INTEGERS | _BIG_ENDIAN | _LITTLE_ENDIAN


def rank(column: Column, value: bytes | None) -> int:
    if value is None:
        return _LEAST
    if column.type in _BIG_ENDIAN:
        return int.from_bytes(value, "big")
    signed = column.type in types.INTEGERS and not column.unsigned
    return int.from_bytes(value, "little", signed=signed)
