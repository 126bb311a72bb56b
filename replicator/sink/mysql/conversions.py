"""Decides how values of a source's column become values of a column at the target, and whether they can. Pure.

A conversion gives every value that the source's column can have, exactly. Whatever is not known to do so is a problem.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from replicator.model import types
from replicator.model.collations import charset
from replicator.model.column_sizes import fixed_size, prefix_size
from replicator.model.table import Column
from replicator.mysql.table_shape import ColumnShape
from replicator.sink.mysql.transcoding import Kind, Step

Found: TypeAlias = "Step | str"
"""How values are converted, or why they can't be."""

_APPROXIMATE: Final = {types.FLOAT, types.DOUBLE}
_FRACTIONS: Final = {types.TIME2: 3, types.TIMESTAMP2: 4, types.DATETIME2: 5}
"""Bytes in front of the fraction."""
_CHOICES: Final = frozenset({types.ENUM, types.SET})
_STRINGS: Final = types.CHARACTERS | types.BLOBS
_INTEGER_BYTES: Final = {types.TINY: 1, types.SHORT: 2, types.INT24: 3, types.LONG: 4, types.LONGLONG: 8}
_UNCOMPRESSED: Final = {
    types.MARIADB_VARCHAR_COMPRESSED: types.VARCHAR,
    types.MARIADB_BLOB_COMPRESSED: types.BLOB,
}
_SAME_BYTES: Final[dict[str, frozenset[str]]] = {
    "ascii": frozenset({"utf8mb3", "utf8mb4", "latin1"}),
    "utf8mb3": frozenset({"utf8mb4"}),
}
"""Character set -> those in which each of its texts has the same bytes."""
_FROM_LATIN1: Final = frozenset({"utf8mb3", "utf8mb4"})
_LATIN1_BYTES: Final = 3
"""Most bytes of a character of latin1 in UTF-8."""
_CHARACTER_BYTES: Final = {"binary": 1, "ascii": 1, "latin1": 1, "utf8mb3": 3, "utf8mb4": 4}
_SHOWN: Final = 12


def conversion(column: Column, target: ColumnShape, *, same_server: bool) -> Found:
    """
    Args:
        column: of the images.
        same_server: source and target are both MySQL, or both MariaDB.
    """
    kind, other = _kind(column.type), _kind(target.type)
    if column.type in types.COMPRESSED:
        same = kind == other and _charset(column) == _charset_of(target)
        return _step(column, target, "copy") if same else _unequal(column, target)
    if kind in _INTEGER_BYTES and other in _INTEGER_BYTES:
        return _integer(column, target)
    if kind in _STRINGS and other in _STRINGS:
        return _string(column, target)
    if kind == types.FLOAT and other == types.DOUBLE:
        return _sign(column, target) or _step(column, target, "double")
    if kind != other:
        return _unequal(column, target)
    if kind in _OF_ONE_KIND:
        return _OF_ONE_KIND[kind](column, target)
    if kind == types.JSON and not same_server:
        return "JSON has another form at the target"
    if kind == types.GEOMETRY and target.geometry and column.geometry != target.geometry:
        return "another type of geometry"
    if kind == types.VECTOR and column.dimensions != target.dimensions:
        return f"{column.dimensions} dimensions at the source, {target.dimensions} at the target"
    return _step(column, target, "copy") if column.meta == target.meta else _unequal(column, target)


def _kind(kind: int) -> int:
    kind = _UNCOMPRESSED.get(kind, kind)
    if kind == types.VAR_STRING:
        return types.VARCHAR
    return types.BLOB if kind in types.BLOBS else kind


def _as_column(target: ColumnShape) -> Column:
    return Column(0, target.name, target.type, target.meta)


def _bytes(column: Column) -> int:
    """Of values, or of their length."""
    size = fixed_size(column)
    return prefix_size(column) if size is None else size


def _step(column: Column, target: ColumnShape, kind: Kind, first: int = 0, second: int = 0) -> Step:
    if kind == "copy":
        return Step(kind, column.index)
    return Step(kind, column.index, _bytes(column), _bytes(_as_column(target)), first, second)


def _integer(column: Column, target: ColumnShape) -> Found:
    given, stored = _INTEGER_BYTES[column.type], _INTEGER_BYTES[target.type]
    if stored < given:
        return _unequal(column, target)
    if target.unsigned and not column.unsigned:
        return "signed at the source only"
    if column.unsigned and not target.unsigned and stored == given:
        return "UNSIGNED at the source only"
    kind: Kind = "copy" if stored == given else "little"
    return _step(column, target, kind, 0 if column.unsigned else 1)


def _sign(column: Column, target: ColumnShape) -> str:
    return "UNSIGNED at the target only" if target.unsigned and not column.unsigned else ""


def _approximate(column: Column, target: ColumnShape) -> Found:
    return _sign(column, target) or _step(column, target, "copy")


def _decimal(column: Column, target: ColumnShape) -> Found:
    (precision, scale), (digits, places) = divmod(column.meta, 256), divmod(target.meta, 256)
    if places < scale or digits - places < precision - scale:
        return _unequal(column, target)
    kind: Kind = "copy" if column.meta == target.meta else "decimal"
    return _sign(column, target) or _step(column, target, kind, column.meta, target.meta)


def _fraction(column: Column, target: ColumnShape) -> Found:
    if target.meta < column.meta:
        return _unequal(column, target)
    same = _bytes(column) == _bytes(_as_column(target))
    negative = 1 if column.type == types.TIME2 else 0
    return _step(column, target, "copy" if same else "fraction", _FRACTIONS[column.type], negative)


def _bits(meta: int) -> int:
    return (meta >> 8) * 8 + (meta & 0xFF)


def _bit(column: Column, target: ColumnShape) -> Found:
    if _bits(target.meta) < _bits(column.meta):
        return _unequal(column, target)
    same = _bytes(column) == _bytes(_as_column(target))
    return _step(column, target, "copy" if same else "big")


def _choice(column: Column, target: ColumnShape) -> Found:
    """Images have the number of a member, or a bit of each. More of them at the end are no harm."""
    if column.members != target.texts[: len(column.members)]:
        return f"members {some(column.members)} at the source, {some(target.texts)} at the target"
    return _step(column, target, "copy" if column.meta == target.meta else "little")


_OF_ONE_KIND: Final[dict[int, Callable[[Column, ColumnShape], Found]]] = {
    types.FLOAT: _approximate,
    types.DOUBLE: _approximate,
    types.NEWDECIMAL: _decimal,
    types.BIT: _bit,
    **dict.fromkeys(_FRACTIONS, _fraction),
    **dict.fromkeys(_CHOICES, _choice),
}


def _string(column: Column, target: ColumnShape) -> Found:
    """Fixed lengths at the target are those of CHAR, which loses spaces at the end, and of BINARY, which gets zeros."""
    ours, theirs = _charset(column), _charset_of(target)
    converted = ours == "latin1" and theirs in _FROM_LATIN1
    if ours != theirs and not converted and theirs not in _SAME_BYTES.get(ours, ()):
        return f"character set {ours} at the source, {theirs} at the target"
    fixed = column.type == types.STRING
    if (fixed and ours == "binary") or (target.type == types.STRING and not fixed):
        same = column.type == target.type and column.meta == target.meta
        return _step(column, target, "copy") if same else _unequal(column, target)
    if not _fits(column, target, ours, theirs, _LATIN1_BYTES if converted else 1):
        return _unequal(column, target)
    if converted:
        return _step(column, target, "latin1")
    same = prefix_size(column) == prefix_size(_as_column(target))
    return _step(column, target, "copy" if same else "prefix")


def _fits(column: Column, target: ColumnShape, ours: str, theirs: str, growth: int) -> bool:
    """BLOB and TEXT are limited by bytes, the others by characters."""
    longest = _longest(column.type, column.meta)
    if target.type in types.BLOBS:
        return longest * growth <= _longest(target.type, target.meta)
    if ours == theirs and column.type in types.CHARACTERS:
        return column.meta <= target.meta
    if ours not in _CHARACTER_BYTES or theirs not in _CHARACTER_BYTES:
        return False
    characters = longest if column.type in types.BLOBS else column.meta // _CHARACTER_BYTES[ours]
    return characters <= target.meta // _CHARACTER_BYTES[theirs]


def _longest(kind: int, meta: int) -> int:
    """Bytes of a value."""
    return (1 << 8 * meta) - 1 if kind in types.BLOBS else meta


def _charset(column: Column) -> str:
    return charset(types.BINARY_COLLATION if column.collation is None else column.collation)


def _charset_of(target: ColumnShape) -> str:
    return "utf8mb3" if target.charset == "utf8" else target.charset or "binary"


def _unequal(column: Column, target: ColumnShape) -> str:
    return f"{_shown(column)} at the source, {_shown(target)} at the target"


def _shown(column: Column | ColumnShape) -> str:
    """As in the definition of a table, nearly."""
    name, meta = types.NAMES.get(column.type, str(column.type)), column.meta
    if column.type == types.NEWDECIMAL:
        return f"DECIMAL({meta >> 8},{meta & 0xFF})"
    if column.type == types.BIT:
        return f"BIT({_bits(meta)})"
    if column.type in types.BLOBS:
        return f"{name} of {meta} bytes of length"
    return f"{name}({meta})" if meta else name


def some(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
