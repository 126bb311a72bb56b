"""Column values in the form in which filters compare them and masks read them (`model.condition`)."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final, TypeAlias

import msgspec

from replicator.decode.binlog import mariadb_compression
from replicator.decode.values import charsets, decimals
from replicator.errors import DecodeError
from replicator.model import types
from replicator.model.column_sizes import fixed_size
from replicator.model.condition import kind_of
from replicator.model.table import Column, Table

Read: TypeAlias = Callable[[Any], Any]

_CUTS: Final = {
    types.TINY: ("b", "B"),
    types.SHORT: ("<h", "<H"),
    types.LONG: ("<i", "<I"),
    types.LONGLONG: ("<q", "<Q"),
    types.FLOAT: ("<f", "<f"),
    types.DOUBLE: ("<d", "<d"),
}


class Comparable(msgspec.Struct, frozen=True):
    """
    Attributes:
        cut: as of `rendering.Rendering`.
        read: what was cut -> int, Decimal, float, str or bytes; None: it is that already.
        scale: of DECIMAL, 0 for other numbers.
    """

    cut: str
    read: Read | None = None
    scale: int = 0


def comparable(column: Column, table: Table) -> Comparable:
    """
    Raises:
        DecodeError: E2306, E2307 for text that can't be read; E2310 for types without an order.
    """
    kind = kind_of(column)
    if kind is None:
        raise DecodeError(
            "E2310",
            f"column {table.qualified}.{column.name} can't be used in comparisons",
            found=types.NAMES.get(column.type, str(column.type)),
            wanted="numbers, text, bytes, dates and times",
        )
    size = fixed_size(column)
    if column.type in _CUTS:
        return Comparable(_CUTS[column.type][column.unsigned])
    if column.type == types.NEWDECIMAL:
        return _decimal(column.meta >> 8, column.meta & 0xFF)
    if column.type in (types.ENUM, types.SET):
        return _members(column, f"{size}s")
    if size is not None:
        read = _FIXED[column.type]
        return Comparable(f"{size}s", lambda raw: read(raw, column))
    return Comparable("bytes", _characters(column, table) if kind == "text" else _bytes(column))


def _decimal(precision: int, scale: int) -> Comparable:
    size, read = decimals.reader(precision, scale)
    if scale == 0:
        return Comparable(f">{size}s", read)
    return Comparable(f">{size}s", lambda raw: Decimal(decimals.plain(read(raw), scale)), scale)


def _members(column: Column, cut: str) -> Comparable:
    """The member's text; index 0, which stands for a refused value, is the empty string. SETs joined by commas."""
    texts = column.members
    every = ("", *texts)

    def foreign(number: int) -> DecodeError:
        what = f"'{column.name}' has the value {number}, which is not a member"
        return DecodeError("E2302", what, found=f"{len(texts)} members")

    def member(raw: bytes) -> str:
        index = _little(raw)
        if index >= len(every):
            raise foreign(index)
        return every[index]

    def joined(raw: bytes) -> str:
        bits = _little(raw)
        if bits >> len(texts):
            raise foreign(bits)
        return ",".join(text for place, text in enumerate(texts) if bits >> place & 1)

    return Comparable(cut, joined if column.type == types.SET else member)


def _little(raw: bytes) -> int:
    return int.from_bytes(raw, "little")


def _characters(column: Column, table: Table) -> Read:
    if column.collation is None:
        raise DecodeError(
            "E2306",
            f"column {table.qualified}.{column.name} has no collation in its table map",
            wanted="binlog_row_metadata = FULL",
        )
    decode = charsets.decoder(column.collation)
    return (lambda raw: decode(mariadb_compression.value(raw))) if column.type in types.COMPRESSED else decode


def _bytes(column: Column) -> Read | None:
    """The binlog cuts the trailing zeros of BINARY(n) off; they belong to the value."""
    if column.type in types.COMPRESSED:
        return mariadb_compression.value
    return (lambda raw: raw.ljust(column.meta, b"\0")) if column.type == types.STRING else None


def _int24(raw: bytes, column: Column) -> int:
    return int.from_bytes(raw, "little", signed=not column.unsigned)


def _year(raw: bytes, column: Column) -> int:
    return raw[0] and 1900 + raw[0]


def _bit(raw: bytes, column: Column) -> int:
    return int.from_bytes(raw, "big")


def _digits(year: int, month: int, day: int, clock: int = 0, micro: int = 0) -> int:
    """YYYYMMDDhhmmssffffff; `clock`: hhmmss."""
    return ((year * 10_000 + month * 100 + day) * 1_000_000 + clock) * 1_000_000 + micro


def _date(raw: bytes, column: Column) -> int:
    packed = _little(raw)
    return _digits(packed >> 9, packed >> 5 & 15, packed & 31)


def _fraction(raw: bytes, size: int) -> tuple[int, int]:
    """(the first `size` bytes as a number, microseconds of those behind them)."""
    rest = len(raw) - size
    return int.from_bytes(raw[:size], "big"), int.from_bytes(raw[size:], "big") * 10 ** (6 - 2 * rest)


def _datetime(raw: bytes, column: Column) -> int:
    """40 bits: 1, year * 13 + month, day (5 bits), hour (5), minute (6), second (6); then the fraction."""
    whole, micro = _fraction(raw, 5)
    year, month = divmod(whole >> 22 & 0x1FFFF, 13)
    clock = (whole >> 12 & 31) * 10_000 + (whole >> 6 & 63) * 100 + (whole & 63)
    return _digits(year, month, whole >> 17 & 31, clock, micro)


def _old_datetime(raw: bytes, column: Column) -> int:
    return _little(raw) * 1_000_000


def _timestamp(raw: bytes, column: Column) -> int:
    whole, micro = _fraction(raw, 4)
    return whole * 1_000_000 + micro


def _old_timestamp(raw: bytes, column: Column) -> int:
    return _little(raw) * 1_000_000


def _time(raw: bytes, column: Column) -> int:
    """Whole part (hours << 12 | minutes << 6 | seconds) and fraction are one number, biased by its middle."""
    size = len(raw) - 3
    packed = int.from_bytes(raw, "big") - (0x800000 << 8 * size)
    whole, part = divmod(abs(packed), 1 << 8 * size)
    seconds = (whole >> 12) * 3600 + (whole >> 6 & 63) * 60 + (whole & 63)
    micro = seconds * 1_000_000 + part * int(10 ** (6 - 2 * size))
    return -micro if packed < 0 else micro


def _old_time(raw: bytes, column: Column) -> int:
    packed = int.from_bytes(raw, "little", signed=True)
    digits = abs(packed)
    micro = (digits // 10_000 * 3600 + digits // 100 % 100 * 60 + digits % 100) * 1_000_000
    return -micro if packed < 0 else micro


_FIXED: Final[dict[int, Callable[[bytes, Column], int]]] = {
    types.INT24: _int24,
    types.YEAR: _year,
    types.BIT: _bit,
    types.DATE: _date,
    types.NEWDATE: _date,
    types.DATETIME2: _datetime,
    types.DATETIME: _old_datetime,
    types.TIMESTAMP2: _timestamp,
    types.TIMESTAMP: _old_timestamp,
    types.TIME2: _time,
    types.TIME: _old_time,
}
