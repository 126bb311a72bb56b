"""Rows of a prepared statement's answer -> row images of the binlog, byte for byte as the server writes them.

So a row of a snapshot takes the way of a streamed one: the same decoder, renderers, transforms and formats, and the
same value for every type. Layouts: `Field_*::pack` in MySQL's field.cc, my_time.cc for times, decimal.cc for decimals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from typing import Final, TypeAlias

from replicator.model import types
from replicator.mysql.binary_values import extent, moment, span
from replicator.mysql.row_images import decimals, json_document
from replicator.mysql.table_shape import BINARY, WIDE, ColumnShape

Value: TypeAlias = Callable[[bytes, int], tuple[bytes, int]]
"""(packet, place of the value) -> (its bytes in the image, place behind it)."""

_EPOCH: Final = date(1970, 1, 1).toordinal()
FIXED: Final = {
    types.TINY: (1, 1),
    types.SHORT: (2, 2),
    types.INT24: (4, 3),
    types.LONG: (4, 4),
    types.LONGLONG: (8, 8),
    types.FLOAT: (4, 4),
    types.DOUBLE: (8, 8),
}
"""Bytes in the answer and in the image; both little-endian."""


class RowImages:
    """Of one table. `image(packet)`: null bitmap and values of one row, as in a WRITE_ROWS event.

    Args:
        sent: the types of the answer's columns.
        mariadb: it sets the bits of the bitmap that belong to no column.
    """

    def __init__(self, columns: Sequence[ColumnShape], sent: Sequence[int], *, mariadb: bool) -> None:
        self._values = [_value(column, kind) for column, kind in zip(columns, sent, strict=True)]
        self._bitmap = (len(columns) + 7) // 8
        self._filler = (1 << 8 * self._bitmap) - (1 << len(columns)) if mariadb else 0
        self._first = (
            1 + (len(columns) + 9) // 8
        )  # behind the header byte and a bitmap that begins with two unused bits

    def image(self, packet: bytes) -> bytes:
        """Raises ValueError, struct.error or IndexError for a packet that is not such a row."""
        nulls = int.from_bytes(packet[1 : self._first], "little") >> 2
        out, at = [(nulls | self._filler).to_bytes(self._bitmap, "little")], self._first
        for index, value in enumerate(self._values):
            if not nulls >> index & 1:
                raw, at = value(packet, at)
                out.append(raw)
        if at != len(packet):
            raise ValueError(f"{len(packet) - at} bytes behind the last column")
        return b"".join(out)


def _value(column: ColumnShape, sent: int) -> Value:
    kind, meta = column.type, column.meta
    if kind in FIXED:
        if sent != kind:
            raise ValueError(f"{column.name}: {types.NAMES.get(sent, sent)} sent for {types.NAMES[kind]}")
        return _copied(*FIXED[kind])
    if kind == types.YEAR:
        return lambda p, at: (bytes((max(0, int.from_bytes(p[at : at + 2], "little") - 1900),)), at + 2)
    if kind in (types.ENUM, types.SET):
        return _copied(FIXED[sent][0], meta)
    if kind == types.NEWDECIMAL:
        return _sized(lambda raw: decimals.pack(raw, meta >> 8, meta & 0xFF))
    if kind == types.DATE:
        return _sized(_date)
    if kind == types.DATETIME2:
        return _sized(lambda raw: _datetime(raw, meta))
    if kind == types.TIMESTAMP2:
        return _sized(lambda raw: _timestamp(raw, meta))
    if kind == types.TIME2:
        return _sized(lambda raw: _time(raw, meta))
    if kind == types.BIT:
        return _sized(lambda raw: raw)
    if kind == types.JSON:
        return _sized(lambda raw: _prefixed(json_document.encode(raw), meta))
    if kind in (types.VARCHAR, types.STRING):
        size = 2 if meta > 255 else 1
        if kind == types.STRING and column.charset not in WIDE:
            pad = b"\0" if column.collation == BINARY else b" "
            return _sized(lambda raw: _prefixed(raw.rstrip(pad), size))
        return _sized(lambda raw: _prefixed(raw, size))
    return _sized(lambda raw: _prefixed(raw, meta))


def _copied(given: int, wanted: int) -> Value:
    return lambda p, at: (p[at : at + wanted], at + given)


def _sized(convert: Callable[[bytes], bytes]) -> Value:
    """Values behind their length."""

    def read(p: bytes, at: int) -> tuple[bytes, int]:
        start, end = extent(p, at)
        if end > len(p):
            raise ValueError("a value is longer than its packet")
        return convert(p[start:end]), end

    return read


def _prefixed(raw: bytes, size: int) -> bytes:
    return len(raw).to_bytes(size, "little") + raw


def _date(raw: bytes) -> bytes:
    year, month, day, *_ = moment(raw)
    return (year << 9 | month << 5 | day).to_bytes(3, "little")


def _fraction(micro: int, digits: int) -> bytes:
    size = (digits + 1) // 2
    unit: int = 10 ** (6 - 2 * size)
    return (micro // unit).to_bytes(size, "big")


def _datetime(raw: bytes, digits: int) -> bytes:
    year, month, day, hour, minute, second, micro = moment(raw)
    packed = ((year * 13 + month) << 5 | day) << 17 | hour << 12 | minute << 6 | second
    return int(packed + 0x8000000000).to_bytes(5, "big") + _fraction(micro, digits)


def _timestamp(raw: bytes, digits: int) -> bytes:
    """The session's time zone is UTC. The zero date is 0 seconds."""
    year, month, day, hour, minute, second, micro = moment(raw)
    seconds = 0
    if year:
        seconds = (date(year, month, day).toordinal() - _EPOCH) * 86400 + hour * 3600 + minute * 60 + second
    return seconds.to_bytes(4, "big") + _fraction(micro, digits)


def _time(raw: bytes, digits: int) -> bytes:
    negative, days, hour, minute, second, micro = span(raw)
    size = (digits + 1) // 2
    unit: int = 10 ** (6 - 2 * size)
    packed: int = ((days * 24 + hour) << 12 | minute << 6 | second) << 8 * size
    packed |= micro // unit if size else 0
    bias: int = 0x800000 << 8 * size
    return (bias - packed if negative else bias + packed).to_bytes(3 + size, "big")
