"""Renderers of dates and times.

Zero dates, dates with a zero month or day and dates that no calendar has (2023-02-30 under ALLOW_INVALID_DATES) become
null in nullable columns, and the epoch (0, 1970-01-01T00:00:00Z) in NOT NULL ones, where null would break consumers.
DATETIME has no time zone: it is counted as if it were UTC. TIMESTAMP is UTC in the binlog.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from functools import cache
from typing import Final

from replicator.decode.renderers.cache import Cache
from replicator.decode.rendering import Rendering
from replicator.model import types
from replicator.model.table import Column, Table

_EPOCH: Final = date(1970, 1, 1).toordinal()
_DAY_SECONDS: Final = 86_400
_CLOCK: Final = tuple(f"{m // 60:02d}:{m % 60:02d}:" for m in range(1440))
_SECOND: Final = tuple(f"{s:02d}" for s in range(60))


def _days(year: int, month: int, day: int) -> int | None:
    """Days since 1970-01-01 in the proleptic Gregorian calendar; None when there is no such day."""
    try:
        return date(year, month, day).toordinal() - _EPOCH
    except ValueError:
        return None


def days(column: Column, table: Table) -> Rendering:
    """DATE as days since the epoch."""
    name = "days_or_null" if column.nullable else "days_or_zero"
    return Rendering("<3s", f"{name}[v]", {name: _DAYS[column.nullable]}, hint=3)


def _date(raw: bytes) -> int | None:
    packed = int.from_bytes(raw, "little")
    return _days(packed >> 9, (packed >> 5) & 15, packed & 31)


def _or(value: int | None, absent: str) -> str:
    return absent if value is None else str(value)


_DAYS: Final[tuple[Cache[bytes], Cache[bytes]]] = (
    Cache(lambda raw: _or(_date(raw), "0"), 20_000),
    Cache(lambda raw: _or(_date(raw), "null"), 20_000),
)


def microseconds(column: Column, table: Table) -> Rendering:
    """TIME as microseconds, negative ones and more than a day included."""
    if column.type == types.TIME:
        return Rendering("<3s", "old_time(v)", {"old_time": _old_time}, hint=5)
    name = f"time{column.meta}"
    return Rendering(f">{3 + (column.meta + 1) // 2}s", f"{name}(v)", {name: _time(column.meta)}, hint=5)


def _old_time(raw: bytes) -> str:
    """hhmmss as a signed decimal number, in tables made before the servers had fractions."""
    packed = int.from_bytes(raw, "little", signed=True)
    digits = abs(packed)
    seconds = digits // 10_000 * 3600 + digits // 100 % 100 * 60 + digits % 100
    return str((-seconds if packed < 0 else seconds) * 1_000_000)


@cache
def _time(digits: int) -> Callable[[bytes], str]:
    """Whole part (hours << 12 | minutes << 6 | seconds) and fraction are one number, biased by its middle."""
    size = (digits + 1) // 2
    shift, weight = 8 * size, 10 ** (6 - 2 * size)
    bias, mask = 0x800000 << shift, (1 << shift) - 1

    def render(raw: bytes) -> str:
        packed = int.from_bytes(raw, "big") - bias
        size = abs(packed)
        whole = size >> shift
        seconds = (whole >> 12) * 3600 + ((whole >> 6) & 63) * 60 + (whole & 63)
        value = seconds * 1_000_000 + (size & mask) * weight
        return f"-{value}" if packed < 0 else f"{value}"

    return render


def datetime(column: Column, table: Table, unit: int) -> Rendering:
    """DATETIME in units of 1/`unit` seconds since the epoch."""
    name = f"datetime{column.meta}_{unit}_{'null' if column.nullable else 'zero'}"
    absent = "null" if column.nullable else "0"
    if column.type == types.DATETIME:
        return Rendering("<Q", f"old_{name}(v)", {f"old_{name}": _old_datetime(unit, absent)}, hint=4)
    render = _datetime(column.meta, unit, absent)
    return Rendering(f">{5 + (column.meta + 1) // 2}s", f"{name}(v)", {name: render}, hint=4)


@cache
def _datetime(digits: int, unit: int, absent: str) -> Callable[[bytes], str]:
    """40 bits: 1, year * 13 + month, day (5 bits), hour (5), minute (6), second (6); then the fraction."""
    size = (digits + 1) // 2
    shift, mask = 8 * size, (1 << 8 * size) - 1
    weight = 10 ** (6 - 2 * size)
    divisor = 1_000_000 // unit
    day_seconds = _DaySeconds()

    def render(raw: bytes) -> str:
        packed = int.from_bytes(raw, "big")
        whole = packed >> shift
        midnight = day_seconds[whole >> 17]
        if midnight is None:
            return absent
        seconds = midnight + ((whole >> 12) & 31) * 3600 + ((whole >> 6) & 63) * 60 + (whole & 63)
        return f"{seconds * unit + (packed & mask) * weight // divisor}"

    return render


class _DaySeconds(dict[int, int | None]):
    """Packed day (sign bit, year * 13 + month, day) -> seconds at its start, or None. At most 20,000 kept."""

    def __missing__(self, packed: int) -> int | None:
        year, month = divmod((packed >> 5) & 0x1FFFF, 13)
        found = _days(year, month, packed & 31)
        if len(self) >= 20_000:
            self.clear()
        value = self[packed] = None if found is None else found * _DAY_SECONDS
        return value


@cache
def _old_datetime(unit: int, absent: str) -> Callable[[int], str]:
    """YYYYMMDDhhmmss as a decimal number, in tables made before the servers had fractions."""

    def render(packed: int) -> str:
        day, clock = divmod(packed, 1_000_000)
        found = _days(day // 10_000, day // 100 % 100, day % 100)
        if found is None:
            return absent
        return str((found * _DAY_SECONDS + clock // 10_000 * 3600 + clock // 100 % 100 * 60 + clock % 100) * unit)

    return render


def timestamp(column: Column, table: Table) -> Rendering:
    """TIMESTAMP as ISO 8601 in UTC with exactly the column's digits of fraction."""
    absent = "null" if column.nullable else "epoch"
    if column.type == types.TIMESTAMP or column.meta == 0:
        name = f"timestamp_or_{absent}"
        cut = "<I" if column.type == types.TIMESTAMP else ">I"
        return Rendering(cut, f"{name}[v]", {name: _TIMESTAMPS[column.nullable]}, hint=8)
    name = f"timestamp{column.meta}_or_{absent}"
    render = _timestamp(column.meta, column.nullable)
    return Rendering(f">{4 + (column.meta + 1) // 2}s", f"{name}(v)", {name: render}, hint=8)


def _iso(seconds: int) -> str:
    day, clock = divmod(seconds, _DAY_SECONDS)
    return f"{_ISO_DAYS[day]}{_CLOCK[clock // 60]}{_SECOND[clock % 60]}"


_ISO_DAYS: Final[Cache[int]] = Cache(lambda day: date.fromordinal(day + _EPOCH).isoformat() + "T", 20_000)


def _whole_timestamp(seconds: int, zero: str) -> str:
    return f'"{_iso(seconds)}Z"' if seconds else zero


_TIMESTAMPS: Final[tuple[Cache[int], Cache[int]]] = (
    Cache(lambda seconds: _whole_timestamp(seconds, '"1970-01-01T00:00:00Z"')),
    Cache(lambda seconds: _whole_timestamp(seconds, "null")),
)


@cache
def _timestamp(digits: int, nullable: bool) -> Callable[[bytes], str]:
    size = (digits + 1) // 2
    width = 2 * size
    zero = "null" if nullable else f'"1970-01-01T00:00:00.{"0" * digits}Z"'

    def render(raw: bytes) -> str:
        seconds = int.from_bytes(raw[:4], "big")
        if not seconds:
            return zero
        fraction = f"{int.from_bytes(raw[4:], 'big'):0{width}d}"[:digits]
        return f'"{_iso(seconds)}.{fraction}Z"'

    return render


def _milliseconds(column: Column, table: Table) -> Rendering:
    return datetime(column, table, 1000)


def _microseconds(column: Column, table: Table) -> Rendering:
    return datetime(column, table, 1_000_000)


_DATETIMES: Final = frozenset({types.DATETIME, types.DATETIME2})

RENDERERS: Final[dict[str, tuple[Callable[[Column, Table], Rendering], frozenset[int]]]] = {
    "date_days": (days, frozenset({types.DATE, types.NEWDATE})),
    "time_us": (microseconds, frozenset({types.TIME, types.TIME2})),
    "datetime_ms": (_milliseconds, _DATETIMES),
    "datetime_us": (_microseconds, _DATETIMES),
    "timestamp_iso": (timestamp, frozenset({types.TIMESTAMP, types.TIMESTAMP2})),
}
