"""Values of keys in row images -> SQL literals that the server compares as the column."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from replicator.model import types
from replicator.mysql.table_shape import BINARY, ColumnShape

_NUMBERS: Final = types.INTEGERS | {types.ENUM, types.SET}
_OTHERS: Final = frozenset(
    {types.YEAR, types.NEWDECIMAL, types.BIT, types.DATE, types.DATETIME2, types.TIMESTAMP2, types.TIME2}
)
_STRINGS: Final = types.CHARACTERS | types.BLOBS
_GROUP: Final = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
"""Bytes of a group of 0 to 9 decimal digits."""
_EPOCH: Final = datetime(1970, 1, 1)


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
        return _decimal(value, meta >> 8, meta & 0xFF)
    if kind == types.BIT:
        return str(int.from_bytes(value, "big"))
    if kind == types.DATE:
        number = int.from_bytes(value, "little")
        return f"'{number >> 9:04}-{number >> 5 & 15:02}-{number & 31:02}'"
    if kind == types.DATETIME2:
        return _datetime(value)
    if kind == types.TIMESTAMP2:
        return _timestamp(value)
    if kind == types.TIME2:
        return _time(value)
    if column.collation == BINARY:
        return f"X'{(value.ljust(meta, bytes(1)) if kind == types.STRING else value).hex()}'"
    return f"_{column.charset} X'{value.hex()}' COLLATE {column.collation_name}"


def _micro(fraction: bytes) -> int:
    return int.from_bytes(fraction, "big") * int(10 ** (6 - 2 * len(fraction)))


def _datetime(value: bytes) -> str:
    packed = int.from_bytes(value[:5], "big") - 0x8000000000
    date, clock = packed >> 17, packed & 0x1FFFF
    months, day = date >> 5, date & 31
    return (
        f"'{months // 13:04}-{months % 13:02}-{day:02} "
        f"{clock >> 12:02}:{clock >> 6 & 63:02}:{clock & 63:02}.{_micro(value[5:]):06}'"
    )


def _timestamp(value: bytes) -> str:
    """The session's time zone is UTC."""
    seconds, micro = int.from_bytes(value[:4], "big"), _micro(value[4:])
    if not seconds and not micro:
        return "'0000-00-00 00:00:00'"
    moment = _EPOCH + timedelta(seconds=seconds, microseconds=micro)
    return f"'{moment.isoformat(' ', 'microseconds')}'"


def _time(value: bytes) -> str:
    size = len(value) - 3
    number = int.from_bytes(value, "big") - (0x800000 << 8 * size)
    sign, number = ("-", -number) if number < 0 else ("", number)
    clock, fraction = number >> 8 * size, number & ((1 << 8 * size) - 1)
    micro = fraction * int(10 ** (6 - 2 * size)) if size else 0
    return f"'{sign}{clock >> 12:02}:{clock >> 6 & 63:02}:{clock & 63:02}.{micro:06}'"


def _decimal(value: bytes, precision: int, scale: int) -> str:
    negative = not value[0] & 0x80
    raw = bytes((value[0] ^ 0x80,)) + value[1:]
    if negative:
        raw = bytes(byte ^ 0xFF for byte in raw)
    whole, at = "", 0
    groups = [(precision - scale) % 9, *[9] * ((precision - scale) // 9)]
    for digits in groups:
        size = _GROUP[digits]
        whole += str(int.from_bytes(raw[at : at + size], "big")).rjust(digits, "0") if digits else ""
        at += size
    part = ""
    for digits in [*[9] * (scale // 9), scale % 9]:
        size = _GROUP[digits]
        part += str(int.from_bytes(raw[at : at + size], "big")).rjust(digits, "0") if digits else ""
        at += size
    return f"{'-' * negative}{whole or '0'}{'.' + part if part else ''}"
