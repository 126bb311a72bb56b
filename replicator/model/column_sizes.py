"""Sizes of column values in a row image, from type and metadata (layout: model/types.py)."""

from __future__ import annotations

from typing import Final

from replicator.errors import DecodeError
from replicator.model import types
from replicator.model.table import Column, Table

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
_BY_META: Final = {
    types.FLOAT: frozenset({4}),
    types.DOUBLE: frozenset({8}),
    types.ENUM: frozenset({1, 2}),
    types.SET: frozenset({1, 2, 3, 4, 8}),
}
"""The sizes that there are."""
_BY_LENGTH: Final = types.CHARACTERS | {types.MARIADB_VARCHAR_COMPRESSED}
_BY_PREFIX: Final = types.BLOBS | {types.GEOMETRY, types.JSON, types.VECTOR, types.MARIADB_BLOB_COMPRESSED}
_PREFIXES: Final = frozenset({1, 2, 3, 4})
_FINEST: Final = 6
"""Digits of a fraction of a second."""
_MOST_DIGITS: Final = 65
"""Of a DECIMAL, on both servers."""
_WIDEST_BIT: Final = 8
_DIGITS: Final = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
"""Bytes of a group of less than nine decimal digits (strings/decimal.c, `dig2bytes`)."""


def check(table: Table) -> None:
    """Raises DecodeError, as the functions below, when rows of the table can't be walked."""
    for column in table.columns:
        if fixed_size(column) is None:
            prefix_size(column)


def fixed_size(column: Column) -> int | None:
    """Bytes of the value; None for a value behind a length prefix.

    Raises:
        DecodeError: E2301 for an unknown type, E2302 for metadata that no column of its type has.
    """
    kind, meta = column.type, column.meta
    size = _FIXED.get(kind)
    if size is not None:
        return size
    if kind in _BY_META:
        return _among(_BY_META[kind], column, "values")
    if kind in _FRACTIONAL:
        if meta > _FINEST:
            raise _impossible(column, f"a fraction of {meta} digits", f"at most {_FINEST}")
        return _FRACTIONAL[kind] + (meta + 1) // 2
    if kind == types.NEWDECIMAL:
        return _decimal_size(meta >> 8, meta & 0xFF, column)
    if kind == types.BIT:
        return _bit_size(meta >> 8, meta & 0xFF, column)
    if kind in _BY_LENGTH or kind in _BY_PREFIX:
        return None
    raise DecodeError(
        "E2301",
        f"the type of column '{column.name}' is unknown",
        found=f"{types.NAMES.get(kind, 'type')} ({kind})",
        wanted="a type of MySQL 9.7 or MariaDB 10.11",
        fix="Exclude the table from `source.tables`, or ALTER the column to another type.",
    )


def prefix_size(column: Column) -> int:
    """Bytes of the little-endian length in front of the value, 1 to 4. Raises DecodeError E2302 for others."""
    if column.type in _BY_PREFIX:
        return _among(_PREFIXES, column, "lengths")
    return 1 if column.meta < 256 else 2


def _decimal_size(precision: int, scale: int, column: Column) -> int:
    if not scale <= precision <= _MOST_DIGITS:
        raise _impossible(column, f"DECIMAL({precision},{scale})", f"a scale <= precision <= {_MOST_DIGITS}")
    whole, whole_rest = divmod(precision - scale, 9)
    part, part_rest = divmod(scale, 9)
    return 4 * (whole + part) + _DIGITS[whole_rest] + _DIGITS[part_rest]


def _bit_size(whole: int, rest: int, column: Column) -> int:
    size = whole + (1 if rest else 0)
    if size > _WIDEST_BIT or rest > 7:
        raise _impossible(column, f"{whole} bytes and {rest} bits", f"at most {_WIDEST_BIT} bytes")
    return size


def _among(sizes: frozenset[int], column: Column, what: str) -> int:
    if column.meta not in sizes:
        wanted = " or ".join(map(str, sorted(sizes)))
        raise _impossible(column, f"{what} of {column.meta} bytes", f"{wanted} bytes")
    return column.meta


def _impossible(column: Column, found: str, wanted: str) -> DecodeError:
    what = f"a table map has invalid metadata for column '{column.name}' ({types.NAMES[column.type]})"
    return DecodeError("E2302", what, found=found, wanted=wanted)
