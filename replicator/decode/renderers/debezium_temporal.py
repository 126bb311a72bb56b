"""Notations for Debezium's `time.precision.mode` in addition to the default ones of `temporal.py`.

What a notation can't hold is null in nullable columns: a TIME below 0 or beyond a day as a time of day, a DATETIME
outside 1677-2262 in nanoseconds. In NOT NULL ones, where Debezium stops, such a TIME is written all the same (`-1000`,
`"-00:00:01Z"`) and such a DATETIME as dates that are none are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Final, TypeAlias

from replicator.decode.renderers.contract import Rendering
from replicator.decode.renderers.temporal import (
    DaySeconds,
    Fallible,
    Year,
    as_it_is,
    date_texts,
    iso,
    old_seconds,
    or_else,
    windowed,
)
from replicator.model import types
from replicator.model.table import Column, Table

_DAY_MS: Final = 86_400_000
_LONG: Final = 1 << 63
Write: TypeAlias = Callable[[int, int], "str | None"]
"""(seconds since the epoch, microseconds) -> text; None for what can't be held."""


def _date(column: Column, table: Table, invalid: str | None = None, year: Year = as_it_is) -> Rendering:
    """DATE as "2024-02-29Z"."""
    texts = date_texts(or_else(invalid, column, '"1970-01-01Z"'), year, _iso_date)
    return Rendering("<3s", "iso_date[v]", {"iso_date": texts}, hint=5)


def _iso_date(days: int) -> str:
    return f'"{iso(days * 86_400)[:10]}Z"'


def _datetime(
    column: Column, table: Table, invalid: str | None = None, *, write: Write, zero: str, year: Year
) -> Rendering:
    absent = or_else(invalid, column, zero)
    if column.type == types.DATETIME:
        return Rendering("<Q", "old_datetime(v)", {"old_datetime": _old(write, absent, year)}, hint=4)
    names = {"datetime": _packed(column.meta, write, absent, year)}
    return Rendering(f">{5 + (column.meta + 1) // 2}s", "datetime(v)", names, hint=5)


@cache
def _packed(digits: int, write: Write, absent: str, year: Year) -> Callable[[bytes], str]:
    """See `temporal._datetime` for the layout."""
    size = (digits + 1) // 2
    shift, mask, weight = 8 * size, (1 << 8 * size) - 1, 10 ** (6 - 2 * size)
    day_seconds = DaySeconds(year)

    def render(raw: bytes) -> str:
        packed = int.from_bytes(raw, "big")
        whole = packed >> shift
        midnight = day_seconds[whole >> 17]
        if midnight is None:
            return absent
        seconds = midnight + ((whole >> 12) & 31) * 3600 + ((whole >> 6) & 63) * 60 + (whole & 63)
        return write(seconds, (packed & mask) * weight) or absent

    return render


@cache
def _old(write: Write, absent: str, year: Year) -> Callable[[int], str]:
    def render(packed: int) -> str:
        seconds = old_seconds(packed, year)
        return absent if seconds is None else write(seconds, 0) or absent

    return render


def _nanoseconds(seconds: int, micros: int) -> str | None:
    value = (seconds * 1_000_000 + micros) * 1000
    return str(value) if -_LONG <= value < _LONG else None


def _iso_datetime(seconds: int, micros: int) -> str:
    return f'"{iso(seconds)}{_fraction(micros)}Z"'


def _fraction(micros: int) -> str:
    """As many digits as it takes."""
    return f".{micros:06d}".rstrip("0") if micros else ""


def _time(column: Column, table: Table, *, write: Callable[[int], str], whole: bool = False) -> Rendering:
    """`write` gets microseconds. `whole`: not only of a day."""
    last = _DAY_MS * 1000 if column.nullable and not whole else 0
    if column.type == types.TIME:
        return Rendering("<3s", "old_time(v)", {"old_time": _old_times(write, last)}, hint=5)
    names = {"time": _times(column.meta, write, last)}
    return Rendering(f">{3 + (column.meta + 1) // 2}s", "time(v)", names, hint=5)


@cache
def _times(digits: int, write: Callable[[int], str], last: int) -> Callable[[bytes], str]:
    """Whole part (hours << 12 | minutes << 6 | seconds) and fraction are one number, biased by its middle."""
    size = (digits + 1) // 2
    shift, weight = 8 * size, 10 ** (6 - 2 * size)
    bias, mask = 0x800000 << shift, (1 << shift) - 1

    def render(raw: bytes) -> str:
        packed = int.from_bytes(raw, "big") - bias
        whole = abs(packed) >> shift
        seconds = (whole >> 12) * 3600 + ((whole >> 6) & 63) * 60 + (whole & 63)
        value = seconds * 1_000_000 + (abs(packed) & mask) * weight
        return _checked(-value if packed < 0 else value, write, last)

    return render


@cache
def _old_times(write: Callable[[int], str], last: int) -> Callable[[bytes], str]:
    """hhmmss as a signed decimal number, in tables made before the servers had fractions."""

    def render(raw: bytes) -> str:
        packed = int.from_bytes(raw, "little", signed=True)
        digits = abs(packed)
        value = (digits // 10_000 * 3600 + digits // 100 % 100 * 60 + digits % 100) * 1_000_000
        return _checked(-value if packed < 0 else value, write, last)

    return render


def _checked(micros: int, write: Callable[[int], str], last: int) -> str:
    return write(micros) if not last or 0 <= micros <= last else "null"


def _time_ms(micros: int) -> str:
    return str(micros // 1000 if micros >= 0 else -(-micros // 1000))


def _time_ns(micros: int) -> str:
    return str(micros * 1000)


def _time_iso(micros: int) -> str:
    seconds, rest = divmod(abs(micros), 1_000_000)
    sign = "-" if micros < 0 else ""
    return f'"{sign}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{_fraction(rest)}Z"'


_SUFFIXES: Final[dict[str, Year]] = {"": as_it_is, "_windowed": windowed}
_DATETIMES: Final = frozenset({types.DATETIME, types.DATETIME2})


FALLIBLE: Final[dict[str, tuple[Fallible, frozenset[int]]]] = {}
for _suffix, _year in _SUFFIXES.items():
    FALLIBLE[f"date_iso{_suffix}"] = (partial(_date, year=_year), frozenset({types.DATE, types.NEWDATE}))
    FALLIBLE[f"datetime_ns{_suffix}"] = (partial(_datetime, write=_nanoseconds, zero="0", year=_year), _DATETIMES)
    FALLIBLE[f"datetime_iso{_suffix}"] = (
        partial(_datetime, write=_iso_datetime, zero='"1970-01-01T00:00:00Z"', year=_year),
        _DATETIMES,
    )

_TIMES: Final = frozenset({types.TIME, types.TIME2})

RENDERERS: Final[dict[str, tuple[Callable[[Column, Table], Rendering], frozenset[int]]]] = {
    "time_ms": (partial(_time, write=_time_ms), _TIMES),
    "time_iso": (partial(_time, write=_time_iso), _TIMES),
    "time_ns": (partial(_time, write=_time_ns, whole=True), _TIMES),
}
