"""How many bytes a column takes in a row image, from its type and metadata alone (layout: model/types.py)."""

from __future__ import annotations

from typing import Final

from replicator.errors import DecodeError
from replicator.model import types
from replicator.model.table import Column

_FIXED: Final = {
    types.TINY: 1,
    types.YEAR: 1,
    types.SHORT: 2,
    types.INT24: 3,
    types.DATE: 3,
    types.NEWDATE: 3,
    types.TIME: 3,
    types.LONG: 4,
    types.TIMESTAMP: 4,
    types.LONGLONG: 8,
    types.DATETIME: 8,
    types.NULL: 0,
}
_FRACTIONAL: Final = {types.TIME2: 3, types.TIMESTAMP2: 4, types.DATETIME2: 5}
_BY_META: Final = frozenset({types.FLOAT, types.DOUBLE, types.ENUM, types.SET})
_BY_LENGTH: Final = types.CHARACTERS | {types.MARIADB_VARCHAR_COMPRESSED}
_BY_PREFIX: Final = types.BLOBS | {types.GEOMETRY, types.JSON, types.VECTOR, types.MARIADB_BLOB_COMPRESSED}
_DIGITS: Final = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
"""Bytes of a group of less than nine decimal digits (strings/decimal.c, `dig2bytes`)."""


def known(column: Column) -> bool:
    """True when rows with this column can be walked."""
    try:
        return fixed_size(column) is not None or prefix_size(column) in (1, 2, 3, 4)
    except DecodeError:
        return False


def fixed_size(column: Column) -> int | None:
    """Bytes of the value; None for a value behind a length prefix. Raises DecodeError E2301 for an unknown type."""
    kind, meta = column.type, column.meta
    size = _FIXED.get(kind)
    if size is not None:
        return size
    if kind in _BY_META:
        return meta
    if kind in _FRACTIONAL:
        return _FRACTIONAL[kind] + (meta + 1) // 2
    if kind == types.NEWDECIMAL:
        return _decimal_size(meta >> 8, meta & 0xFF, column)
    if kind == types.BIT:
        return (meta >> 8) + (1 if meta & 0xFF else 0)
    if kind in _BY_LENGTH or kind in _BY_PREFIX:
        return None
    raise DecodeError(
        "E2301",
        f"the type of column '{column.name}' is not known",
        found=f"{types.NAMES.get(kind, 'type')} ({kind})",
        wanted="a type of MySQL 9.7 or MariaDB 10.11",
        fix="Exclude the table from `source.tables`, or ALTER the column to another type.",
    )


def prefix_size(column: Column) -> int:
    """Bytes of the little-endian length in front of the value, 1 to 4."""
    if column.type in _BY_PREFIX:
        return column.meta
    return 1 if column.meta < 256 else 2


def _decimal_size(precision: int, scale: int, column: Column) -> int:
    if scale > precision:
        raise DecodeError("E2302", f"DECIMAL({precision},{scale}) of column '{column.name}' can't be")
    whole, whole_rest = divmod(precision - scale, 9)
    part, part_rest = divmod(scale, 9)
    return 4 * (whole + part) + _DIGITS[whole_rest] + _DIGITS[part_rest]
