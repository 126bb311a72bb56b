"""How a column of the source and its column at the target are selected, so that equal values arrive as equal bytes."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from replicator.model import types
from replicator.mysql.identifiers import quote_identifier
from replicator.mysql.table_shape import BINARY, ColumnShape

Kind: TypeAlias = Literal["bytes", "json"]
"""`json`: documents whose text differs may be equal."""

_INTEGERS: Final = types.INTEGERS | {types.YEAR}
_FLOATS: Final = frozenset({types.FLOAT, types.DOUBLE})
_MOMENTS: Final = frozenset({types.DATE, types.DATETIME2, types.TIMESTAMP2})
"""The binary protocol sends all of them in one form, whatever their digits."""
_CHOICES: Final = frozenset({types.ENUM, types.SET})
_STRINGS: Final = types.CHARACTERS | types.BLOBS
_DIGITS: Final = {types.TINY: 3, types.SHORT: 5, types.INT24: 8, types.LONG: 10, types.LONGLONG: 20, types.YEAR: 4}
_MOST_DIGITS: Final = 65
_UTF8: Final = frozenset({"utf8", "utf8mb3", "utf8mb4", "ascii"})
"""Character sets in which equal text has equal bytes."""


class ColumnPair(msgspec.Struct, frozen=True):
    """`source`, `target`: with the expressions that are selected, and the types that these have."""

    source: ColumnShape
    target: ColumnShape
    kind: Kind = "bytes"


def paired(source: ColumnShape, target: ColumnShape) -> ColumnPair | None:
    """None: values of the two types can't be compared."""
    given = {source.type, target.type}
    if given <= _INTEGERS | {types.BIT, types.NEWDECIMAL}:
        return _numbers(source, target)
    if given <= _FLOATS:
        return _floats(source, target)
    if given <= _MOMENTS or given == {types.TIME2}:
        return _as_they_are(source, target)
    if given <= _CHOICES | _STRINGS and (given & _CHOICES):
        return _choices(source, target)
    if given <= _STRINGS | {types.VECTOR, types.GEOMETRY}:
        return _strings(source, target)
    if types.JSON in given and given <= _STRINGS | {types.JSON}:
        return _documents(source, target)
    return None


def same_order(source: ColumnShape, target: ColumnShape) -> bool:
    """Whether both servers order the values of the two columns alike, and take a literal of one for the other."""
    given = {source.type, target.type}
    if given <= _INTEGERS or given <= {types.NEWDECIMAL} or given <= _MOMENTS or given <= {types.TIME2, types.BIT}:
        return (source.type == types.BIT) == (target.type == types.BIT)
    if source.type != target.type or source.expression != quote_identifier(source.name):
        return source.type == target.type and source.type in _CHOICES and _same_members(source, target)
    if source.collation == BINARY or target.collation == BINARY:
        return source.collation == target.collation and source.meta == target.meta
    return source.type in _STRINGS and (source.charset, source.collation_name) == (
        target.charset,
        target.collation_name,
    )


def _as_they_are(source: ColumnShape, target: ColumnShape) -> ColumnPair:
    return ColumnPair(source, target)


def _numbers(source: ColumnShape, target: ColumnShape) -> ColumnPair | None:
    same_sign = source.unsigned == target.unsigned
    given = {source.type, target.type}
    if given == {types.BIT}:
        if source.meta == target.meta:
            return ColumnPair(source, target)
        return _both(source, target, "CAST({} AS UNSIGNED)", types.LONGLONG, unsigned=True)
    if given <= _INTEGERS and same_sign:
        if source.type == target.type:
            return ColumnPair(source, target)
        cast = "CAST({} AS UNSIGNED)" if source.unsigned else "CAST({} AS SIGNED)"
        return _both(source, target, cast, types.LONGLONG, unsigned=source.unsigned)
    if given == {types.NEWDECIMAL} and source.meta == target.meta and not (source.unsigned or target.unsigned):
        return ColumnPair(source, target)  # an unsigned one may be ZEROFILL, which is sent with its zeros
    scale = max(_scale(source), _scale(target))
    if max(_whole(source), _whole(target)) + scale > _MOST_DIGITS:
        return None
    cast = f"CAST({{}} AS DECIMAL({_MOST_DIGITS},{scale}))"
    return _both(source, target, cast, types.NEWDECIMAL)


def _scale(column: ColumnShape) -> int:
    return column.meta & 0xFF if column.type == types.NEWDECIMAL else 0


def _whole(column: ColumnShape) -> int:
    """Digits in front of the point."""
    return (column.meta >> 8) - _scale(column) if column.type == types.NEWDECIMAL else _DIGITS.get(column.type, 20)


def _floats(source: ColumnShape, target: ColumnShape) -> ColumnPair:
    if source.type == target.type:
        return ColumnPair(source, target)
    return _both(source, target, "({} * 1e0)", types.DOUBLE)


def _choices(source: ColumnShape, target: ColumnShape) -> ColumnPair:
    if source.type == target.type and _same_members(source, target):
        return ColumnPair(source, target)  # by number, as their expressions have it
    if source.type == target.type == types.SET:
        return ColumnPair(_sorted_set(source), _sorted_set(target))
    return _both(source, target, "CONVERT({} USING utf8mb4)", types.VARCHAR)


def _same_members(source: ColumnShape, target: ColumnShape) -> bool:
    return source.members == target.members and _family(source) == _family(target)


def _sorted_set(column: ColumnShape) -> ColumnShape:
    """The members of a value in one order for both definitions: that of their bytes in utf8mb4."""
    name = quote_identifier(column.name)
    parts = sorted(
        (member, _member(name, column.charset, place, member)) for place, member in enumerate(column.members)
    )
    joined = ", ".join(part for _, part in parts)
    return _as(column, f"IF({name} IS NULL, NULL, CONCAT_WS(',', {joined}))", types.VARCHAR)


def _member(name: str, charset: str, place: int, member: bytes) -> str:
    text = f"CONVERT(_{charset} X'{member.hex()}' USING utf8mb4)"
    return f"IF(CAST({name} AS UNSIGNED) & {1 << place}, {text}, NULL)"


def _strings(source: ColumnShape, target: ColumnShape) -> ColumnPair:
    if _is_text(source) and _is_text(target):
        if _family(source) == _family(target):
            return ColumnPair(source, target)
        return _both(source, target, "CONVERT({} USING utf8mb4)", types.VARCHAR)
    padded = [each for each in (source, target) if each.type == types.STRING and not _is_text(each)]
    if padded and (source.type, source.meta) != (target.type, target.meta):
        return ColumnPair(_trimmed(source), _trimmed(target))
    return ColumnPair(source, target)


def _trimmed(column: ColumnShape) -> ColumnShape:
    """Without the zero bytes that fill a BINARY."""
    return msgspec.structs.replace(column, expression=f"TRIM(TRAILING X'00' FROM {column.expression})")


def _documents(source: ColumnShape, target: ColumnShape) -> ColumnPair:
    if source.type == target.type:  # both servers print a document in one notation
        return ColumnPair(source, target)
    return ColumnPair(_document(source), _document(target), "json")


def _document(column: ColumnShape) -> ColumnShape:
    if column.type == types.JSON or _family(column) == "utf8" or not _is_text(column):
        return column
    return _as(column, f"CONVERT({quote_identifier(column.name)} USING utf8mb4)", types.VARCHAR)


def _is_text(column: ColumnShape) -> bool:
    return column.collation not in (None, BINARY)


def _family(column: ColumnShape) -> str:
    return "utf8" if column.charset in _UTF8 else column.charset


def _both(source: ColumnShape, target: ColumnShape, template: str, kind: int, *, unsigned: bool = False) -> ColumnPair:
    def made(column: ColumnShape) -> ColumnShape:
        return _as(column, template.format(quote_identifier(column.name)), kind, unsigned=unsigned)

    return ColumnPair(made(source), made(target))


def _as(column: ColumnShape, expression: str, kind: int, *, unsigned: bool = False) -> ColumnShape:
    text = kind == types.VARCHAR
    return msgspec.structs.replace(
        column,
        expression=expression,
        type=kind,
        unsigned=unsigned,
        charset="utf8mb4" if text else "",
        collation_name="utf8mb4_bin" if text else "",
        collation=46 if text else None,
        members=(),
    )
