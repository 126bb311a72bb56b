"""Renderers of dates and times.

Zero dates, dates with a zero month or day and dates that no calendar has (2023-02-30 under ALLOW_INVALID_DATES) become
null in nullable columns, and the epoch (0, 1970-01-01T00:00:00Z) in NOT NULL ones, where null would break consumers;
`NAME:TEXT` writes TEXT in their place. The names that end in `_windowed` move the years 1 to 99 to 1970-2069.
DATETIME has no time zone: it is counted as if it were UTC. TIMESTAMP is UTC in the binlog, seconds as an unsigned
number, up to 2106. Its zero date is 0 with no fraction: where MariaDB is not strict, what is out of range becomes 0 and
keeps its fraction, and is 1970-01-01 00:00:00.999999 when it is selected.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from functools import cache, partial
from typing import Final, Protocol, TypeAlias

from replicator.decode.renderers.cache import Cache
from replicator.decode.renderers.contract import Rendering
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


def windowed(year: int) -> int:
    """A year of two digits in 1970 to 2069; 0 marks a zero date and stays."""
    if 0 < year < 100:
        return year + (2000 if year < 70 else 1900)
    return year


def as_it_is(year: int) -> int:
    return year


Year: TypeAlias = Callable[[int], int]
"""What is made of a stored year."""


def days(column: Column, table: Table, invalid: str | None = None, year: Year = as_it_is) -> Rendering:
    """DATE as days since the epoch."""
    texts = date_texts(or_else(invalid, column, "0"), year, str)
    return Rendering("<3s", "days[v]", {"days": texts}, hint=3)


def or_else(invalid: str | None, column: Column, zero: str) -> str:
    """What is written for a date that is none."""
    if invalid is not None:
        return invalid
    return "null" if column.nullable else zero


@cache
def date_texts(absent: str, year: Year, write: Callable[[int], str]) -> Cache[bytes]:
    """DATE's three bytes -> text; `write` gets days since the epoch."""
    return Cache(lambda raw: _or(_date(raw, year), absent, write), 20_000)


def _date(raw: bytes, year: Year) -> int | None:
    packed = int.from_bytes(raw, "little")
    return _days(year(packed >> 9), (packed >> 5) & 15, packed & 31)


def _or(value: int | None, absent: str, write: Callable[[int], str]) -> str:
    return absent if value is None else write(value)


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


def datetime(
    column: Column, table: Table, invalid: str | None = None, unit: int = 1000, year: Year = as_it_is
) -> Rendering:
    """DATETIME in units of 1/`unit` seconds since the epoch."""
    absent = or_else(invalid, column, "0")
    name = f"datetime{column.meta}_{unit}"
    if column.type == types.DATETIME:
        return Rendering("<Q", f"old_{name}(v)", {f"old_{name}": _old_datetime(unit, absent, year)}, hint=4)
    render = _datetime(column.meta, unit, absent, year)
    return Rendering(f">{5 + (column.meta + 1) // 2}s", f"{name}(v)", {name: render}, hint=4)


@cache
def _datetime(digits: int, unit: int, absent: str, year: Year) -> Callable[[bytes], str]:
    """40 bits: 1, year * 13 + month, day (5 bits), hour (5), minute (6), second (6); then the fraction."""
    size = (digits + 1) // 2
    shift, mask = 8 * size, (1 << 8 * size) - 1
    weight = 10 ** (6 - 2 * size)
    divisor = 1_000_000 // unit
    day_seconds = DaySeconds(year)

    def render(raw: bytes) -> str:
        packed = int.from_bytes(raw, "big")
        whole = packed >> shift
        midnight = day_seconds[whole >> 17]
        if midnight is None:
            return absent
        seconds = midnight + ((whole >> 12) & 31) * 3600 + ((whole >> 6) & 63) * 60 + (whole & 63)
        return f"{seconds * unit + (packed & mask) * weight // divisor}"

    return render


class DaySeconds(dict[int, int | None]):
    """Packed day (sign bit, year * 13 + month, day) -> seconds at its start, or None. At most 20,000 kept."""

    def __init__(self, year: Year) -> None:
        super().__init__()
        self._year = year

    def __missing__(self, packed: int) -> int | None:
        year, month = divmod((packed >> 5) & 0x1FFFF, 13)
        found = _days(self._year(year), month, packed & 31)
        if len(self) >= 20_000:
            self.clear()
        value = self[packed] = None if found is None else found * _DAY_SECONDS
        return value


def old_seconds(packed: int, year: Year) -> int | None:
    """Seconds since the epoch of YYYYMMDDhhmmss as a decimal number, in tables made before the servers had fractions;
    None for a day that is none."""
    day, clock = divmod(packed, 1_000_000)
    found = _days(year(day // 10_000), day // 100 % 100, day % 100)
    if found is None:
        return None
    return found * _DAY_SECONDS + clock // 10_000 * 3600 + clock // 100 % 100 * 60 + clock % 100


@cache
def _old_datetime(unit: int, absent: str, year: Year) -> Callable[[int], str]:
    def render(packed: int) -> str:
        seconds = old_seconds(packed, year)
        return absent if seconds is None else str(seconds * unit)

    return render


def timestamp(column: Column, table: Table, invalid: str | None = None) -> Rendering:
    """TIMESTAMP as ISO 8601 in UTC with exactly the column's digits of fraction."""
    fraction = f".{'0' * column.meta}" if column.type == types.TIMESTAMP2 and column.meta else ""
    absent = or_else(invalid, column, f'"1970-01-01T00:00:00{fraction}Z"')
    if not fraction:
        cut = "<I" if column.type == types.TIMESTAMP else ">I"
        return Rendering(cut, "timestamp[v]", {"timestamp": _whole_timestamps(absent)}, hint=8)
    name = f"timestamp{column.meta}"
    return Rendering(f">{4 + (column.meta + 1) // 2}s", f"{name}(v)", {name: _timestamp(column.meta, absent)}, hint=8)


def iso(seconds: int) -> str:
    """YYYY-MM-DDThh:mm:ss."""
    day, clock = divmod(seconds, _DAY_SECONDS)
    return f"{_ISO_DAYS[day]}{_CLOCK[clock // 60]}{_SECOND[clock % 60]}"


_ISO_DAYS: Final[Cache[int]] = Cache(lambda day: date.fromordinal(day + _EPOCH).isoformat() + "T", 20_000)


@cache
def _whole_timestamps(zero: str) -> Cache[int]:
    return Cache(lambda seconds: f'"{iso(seconds)}Z"' if seconds else zero)


@cache
def _timestamp(digits: int, zero: str) -> Callable[[bytes], str]:
    size = (digits + 1) // 2
    width = 2 * size

    def render(raw: bytes) -> str:
        if not any(raw):
            return zero
        fraction = f"{int.from_bytes(raw[4:], 'big'):0{width}d}"[:digits]
        return f'"{iso(int.from_bytes(raw[:4], "big"))}.{fraction}Z"'

    return render


class Fallible(Protocol):
    """Takes a text for what is no date (`NAME:TEXT`)."""

    def __call__(self, column: Column, table: Table, invalid: str | None = None) -> Rendering: ...


_DATES: Final = frozenset({types.DATE, types.NEWDATE})
_DATETIMES: Final = frozenset({types.DATETIME, types.DATETIME2})
_UNITS: Final = {"ms": 1000, "us": 1_000_000}
_YEARS: Final[dict[str, Year]] = {"": as_it_is, "_windowed": windowed}


FALLIBLE: Final[dict[str, tuple[Fallible, frozenset[int]]]] = {
    **{f"date_days{suffix}": (partial(days, year=year), _DATES) for suffix, year in _YEARS.items()},
    **{
        f"datetime_{name}{suffix}": (partial(datetime, unit=unit, year=year), _DATETIMES)
        for name, unit in _UNITS.items()
        for suffix, year in _YEARS.items()
    },
    "timestamp_iso": (timestamp, frozenset({types.TIMESTAMP, types.TIMESTAMP2})),
}

RENDERERS: Final[dict[str, tuple[Callable[[Column, Table], Rendering], frozenset[int]]]] = {
    "time_us": (microseconds, frozenset({types.TIME, types.TIME2})),
}
