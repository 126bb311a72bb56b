"""Values of keys in row images -> SQL literals that the server compares as the column."""

from __future__ import annotations

from typing import Final

from replicator.model import types
from replicator.mysql.table_shape import BINARY, ColumnShape
from replicator.sink.mysql import value_texts

_NUMBERS: Final = types.INTEGERS | {types.ENUM, types.SET}
_TIMES: Final = {
    types.DATE: value_texts.date,
    types.DATETIME2: value_texts.date_time,
    types.TIMESTAMP2: value_texts.timestamp,
    types.TIME2: value_texts.time,
}
_OTHERS: Final = frozenset({types.YEAR, types.NEWDECIMAL, types.BIT, *_TIMES})
_STRINGS: Final = types.CHARACTERS | types.BLOBS


def usable(column: ColumnShape) -> bool:
    """Whether a row can be found by a value of the column. FLOAT and DOUBLE: no literal is surely equal."""
    return column.type in _NUMBERS | _OTHERS | _STRINGS


def folded(column: ColumnShape) -> bool:
    """Whether values with other bytes may be equal."""
    return column.type in _STRINGS and column.collation != BINARY


def literal(column: ColumnShape, value: bytes) -> str:
    kind, meta = column.type, column.meta
    if kind in _NUMBERS:
        signed = kind in types.INTEGERS and not column.unsigned
        return str(int.from_bytes(value, "little", signed=signed))
    if kind == types.YEAR:
        return str(1900 + value[0] if value[0] else 0)
    if kind == types.NEWDECIMAL:
        return value_texts.decimal(value, meta >> 8, meta & 0xFF)
    if kind == types.BIT:
        return str(int.from_bytes(value, "big"))
    if kind in _TIMES:
        return f"'{_TIMES[kind](value)}'"  # the session's time zone is UTC
    if column.collation == BINARY:
        return f"X'{(value.ljust(meta, bytes(1)) if kind == types.STRING else value).hex()}'"
    return f"_{column.charset} X'{value.hex()}' COLLATE {column.collation_name}"
