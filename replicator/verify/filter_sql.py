"""A row filter of the task as SQL, so that the source sends the rows that the target has.

Text is compared by its code points, as the filter does: in utf8mb4, byte by byte. What a server could test in another
way than the filter is refused.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Final

from replicator.model import types
from replicator.model.condition import And, Compare, Condition, Constant, IsNull, Like, Not, Of, OneOf, Or
from replicator.mysql.identifiers import quote_identifier
from replicator.mysql.table_shape import BINARY, ColumnShape, TableShape

_NUMBERS: Final = types.INTEGERS | {types.YEAR, types.NEWDECIMAL}
_MOMENTS: Final = frozenset({types.DATE, types.DATETIME2, types.TIMESTAMP2})
_TEXTS: Final = types.CHARACTERS | types.BLOBS | {types.ENUM, types.SET}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class NotInSQL(ValueError):
    """The filter can't be tested by a server."""


def condition(shape: TableShape, chosen: Condition) -> str:
    """For a WHERE clause. `shape`: all columns, as the filter numbers them. Raises NotInSQL."""
    if isinstance(chosen, And | Or):
        word = " AND " if isinstance(chosen, And) else " OR "
        return "(" + word.join(condition(shape, part) for part in chosen.parts) + ")"
    if isinstance(chosen, Not):
        return f"(NOT {condition(shape, chosen.part)})"
    if isinstance(chosen, IsNull):
        return f"({quote_identifier(_column(shape, chosen.value).name)} IS NULL)"
    if isinstance(chosen, Compare):
        column = _column(shape, chosen.left)
        if isinstance(chosen.right, Of):
            other = _column(shape, chosen.right)
            return f"({_value(column)} {chosen.comparison} {_value(other)})"
        return f"({_value(column)} {chosen.comparison} {_literal(column, chosen.right)})"
    if isinstance(chosen, OneOf):
        column = _column(shape, chosen.value)
        return f"({_value(column)} IN ({', '.join(_literal(column, each) for each in chosen.constants)}))"
    if isinstance(chosen, Like):
        column = _column(shape, chosen.value)
        if not _is_text(column):
            raise NotInSQL(f"LIKE on {column.name}")
        name = quote_identifier(column.name)
        pattern = f"CONVERT(X'{chosen.pattern.encode().hex()}' USING utf8mb4)"
        return f"(CONVERT({name} USING utf8mb4) COLLATE utf8mb4_bin LIKE {pattern} COLLATE utf8mb4_bin)"
    raise NotInSQL("a condition of changes")


def _column(shape: TableShape, of: Of) -> ColumnShape:
    if of.image != "row":
        raise NotInSQL("a condition of changes")
    return shape.columns[of.column]


def _is_text(column: ColumnShape) -> bool:
    return column.type in _TEXTS and column.collation != BINARY


def _value(column: ColumnShape) -> str:
    name = quote_identifier(column.name)
    if _is_text(column):
        return f"CAST(CONVERT({name} USING utf8mb4) AS BINARY)"
    if column.type in _NUMBERS or column.type in _MOMENTS or column.type == types.TIME2:
        return name
    raise NotInSQL(f"a comparison of {column.name}")


def _literal(column: ColumnShape, constant: Constant) -> str:
    if _is_text(column) and isinstance(constant, str):
        return f"X'{constant.encode().hex()}'"
    if column.type in _NUMBERS and isinstance(constant, int | Decimal):
        return f"{constant:f}" if isinstance(constant, Decimal) else str(constant)
    if isinstance(constant, int) and column.type in _MOMENTS:
        return _instant(constant) if column.type == types.TIMESTAMP2 else _digits(constant)
    if isinstance(constant, int) and column.type == types.TIME2:
        rest, micro = divmod(abs(constant), 1_000_000)
        return f"'{'-' * (constant < 0)}{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}.{micro:06}'"
    raise NotInSQL(f"a comparison of {column.name}")


def _digits(constant: int) -> str:
    """Of YYYYMMDDhhmmssffffff."""
    text = f"{constant:020}"
    day, clock = f"{text[:4]}-{text[4:6]}-{text[6:8]}", f"{text[8:10]}:{text[10:12]}:{text[12:14]}.{text[14:]}"
    return f"CAST('{day} {clock}' AS DATETIME(6))"  # a text would be taken for a DATE where the column is one


def _instant(constant: int) -> str:
    """The session's time zone is UTC."""
    if not constant:
        return "CAST('0000-00-00 00:00:00' AS DATETIME(6))"
    try:
        made = _EPOCH + timedelta(microseconds=constant)
    except OverflowError as error:
        raise NotInSQL("a moment out of range") from error
    return f"CAST('{made.year:04}{made.strftime('-%m-%d %H:%M:%S.%f')}' AS DATETIME(6))"
