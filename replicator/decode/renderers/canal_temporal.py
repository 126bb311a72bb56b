"""Renders dates and times as the servers print them; TIMESTAMP in UTC."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from functools import cache
from typing import Final

from replicator.decode.renderers.cache import Cache
from replicator.decode.renderers.contract import Rendering
from replicator.model import types
from replicator.model.table import Column, Table

_EPOCH: Final = date(1970, 1, 1).toordinal()
_CLOCK: Final = tuple(f"{m // 60:02d}:{m % 60:02d}:" for m in range(1440))


def _date(column: Column, table: Table) -> Rendering:
    return Rendering("<3s", "plain_date[v]", {"plain_date": _DATES}, hint=5)


def _date_text(raw: bytes) -> str:
    packed = int.from_bytes(raw, "little")
    return f'"{packed >> 9:04d}-{(packed >> 5) & 15:02d}-{packed & 31:02d}"'


_DATES: Final[Cache[bytes]] = Cache(_date_text, 20_000)


def _time(column: Column, table: Table) -> Rendering:
    if column.type == types.TIME:
        return Rendering("<3s", "plain_old_time(v)", {"plain_old_time": _old_time}, hint=5)
    name = f"plain_time{column.meta}"
    return Rendering(f">{3 + (column.meta + 1) // 2}s", f"{name}(v)", {name: _time_text(column.meta)}, hint=6)


def _old_time(raw: bytes) -> str:
    """hhmmss as a signed decimal number, in tables made before the servers had fractions."""
    packed = int.from_bytes(raw, "little", signed=True)
    digits = abs(packed)
    return f'"{"-" * (packed < 0)}{digits // 10_000:02d}:{digits // 100 % 100:02d}:{digits % 100:02d}"'


@cache
def _time_text(digits: int) -> Callable[[bytes], str]:
    """Whole part (hours << 12 | minutes << 6 | seconds) and fraction are one number, biased by its middle."""
    shift = 8 * ((digits + 1) // 2)
    bias, mask = 0x800000 << shift, (1 << shift) - 1
    fraction = _fraction(digits)

    def render(raw: bytes) -> str:
        packed = int.from_bytes(raw, "big") - bias
        size = abs(packed)
        whole = size >> shift
        sign = "-" if packed < 0 else ""
        return f'"{sign}{whole >> 12:02d}:{(whole >> 6) & 63:02d}:{whole & 63:02d}{fraction(size & mask)}"'

    return render


@cache
def _fraction(digits: int) -> Callable[[int], str]:
    """The stored fraction, which has an even number of digits, as a point and exactly `digits` digits."""
    if not digits:
        return lambda stored: ""
    width = digits + digits % 2
    return lambda stored: f".{stored:0{width}d}"[: digits + 1]


def _datetime(column: Column, table: Table) -> Rendering:
    if column.type == types.DATETIME:
        return Rendering("<Q", "plain_old_datetime(v)", {"plain_old_datetime": _old_datetime}, hint=4)
    name = f"plain_datetime{column.meta}"
    return Rendering(f">{5 + (column.meta + 1) // 2}s", f"{name}(v)", {name: _datetime_text(column.meta)}, hint=5)


def _old_datetime(packed: int) -> str:
    """YYYYMMDDhhmmss as a decimal number, in tables made before the servers had fractions."""
    text = f"{packed:014d}"
    return f'"{text[:-10]}-{text[-10:-8]}-{text[-8:-6]} {text[-6:-4]}:{text[-4:-2]}:{text[-2:]}"'


@cache
def _datetime_text(digits: int) -> Callable[[bytes], str]:
    """40 bits: 1, year * 13 + month, day (5 bits), hour (5), minute (6), second (6); then the fraction."""
    fraction, days = _fraction(digits), _PACKED_DAYS

    def render(raw: bytes) -> str:
        whole = int.from_bytes(raw[:5], "big")
        minutes = ((whole >> 12) & 31) * 60 + ((whole >> 6) & 63)
        return f'"{days[whole >> 17]}{_CLOCK[minutes]}{whole & 63:02d}{fraction(int.from_bytes(raw[5:], "big"))}"'

    return render


def _packed_day(packed: int) -> str:
    year, month = divmod((packed >> 5) & 0x1FFFF, 13)
    return f"{year:04d}-{month:02d}-{packed & 31:02d} "


_PACKED_DAYS: Final[Cache[int]] = Cache(_packed_day, 20_000)


def _timestamp(column: Column, table: Table) -> Rendering:
    if column.type == types.TIMESTAMP or not column.meta:
        cut = "<I" if column.type == types.TIMESTAMP else ">I"
        return Rendering(cut, "plain_timestamp[v]", {"plain_timestamp": _TIMESTAMPS}, hint=6)
    name = f"plain_timestamp{column.meta}"
    render = _timestamp_text(column.meta)
    return Rendering(f">{4 + (column.meta + 1) // 2}s", f"{name}(v)", {name: render}, hint=6)


_ZERO: Final = "0000-00-00 00:00:00"


def _utc(seconds: int) -> str:
    """Text of a TIMESTAMP's seconds."""
    day, clock = divmod(seconds, 86_400)
    return f"{_DAYS[day]}{_CLOCK[clock // 60]}{clock % 60:02d}"


_DAYS: Final[Cache[int]] = Cache(lambda day: date.fromordinal(day + _EPOCH).isoformat() + " ", 20_000)
_TIMESTAMPS: Final[Cache[int]] = Cache(lambda seconds: f'"{_utc(seconds) if seconds else _ZERO}"')


@cache
def _timestamp_text(digits: int) -> Callable[[bytes], str]:
    fraction = _fraction(digits)

    def render(raw: bytes) -> str:
        whole = _utc(int.from_bytes(raw[:4], "big")) if any(raw) else _ZERO
        return f'"{whole}{fraction(int.from_bytes(raw[4:], "big"))}"'

    return render


BUILDERS: Final[dict[int, Callable[[Column, Table], Rendering]]] = {
    types.DATE: _date,
    types.NEWDATE: _date,
    types.TIME: _time,
    types.TIME2: _time,
    types.DATETIME: _datetime,
    types.DATETIME2: _datetime,
    types.TIMESTAMP: _timestamp,
    types.TIMESTAMP2: _timestamp,
}
