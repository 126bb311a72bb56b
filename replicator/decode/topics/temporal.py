"""Dates and times of records -> as the binary protocol has them."""

from __future__ import annotations

import re
import struct
from datetime import date
from typing import Final

_EPOCH: Final = date(1970, 1, 1).toordinal()
_DAY: Final = 86_400_000_000
_MOMENT: Final = struct.Struct("<HBBBBBI")
_SPAN: Final = struct.Struct("<BIBBBI")
_DATE: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_DATETIME: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?")
_TIME: Final = re.compile(r"(-?)(\d{2,3}):(\d\d):(\d\d)(?:\.(\d{1,6}))?")
_MOST_TIME: Final = (838 * 3600 + 59 * 60 + 59) * 1_000_000


def _sized(raw: bytes) -> bytes:
    return bytes((len(raw),)) + raw


def _moment(year: int, month: int, day: int, hour: int, minute: int, second: int, micro: int) -> bytes:
    if month > 12 or day > 31 or hour > 23 or minute > 59 or second > 59:
        raise ValueError("no date or time of day")
    return _sized(_MOMENT.pack(year, month, day, hour, minute, second, micro))


def _exact(micro: int, digits: int) -> int:
    """Raises ValueError where the column has fewer digits."""
    if micro % 10 ** (6 - digits):
        raise ValueError(f"more than the {digits} digits of a fraction that the column has")
    return micro


def of_days(days: int) -> bytes:
    """Since the epoch."""
    found = _day(days)
    return _moment(found.year, found.month, found.day, 0, 0, 0, 0)


def _day(days: int) -> date:
    try:
        return date.fromordinal(_EPOCH + days)
    except (ValueError, OverflowError):
        raise ValueError("a date outside of the years 1 to 9999") from None


def of_micros(micros: int, digits: int) -> bytes:
    """Of a DATETIME, since the epoch."""
    days, rest = divmod(micros, _DAY)
    found = _day(days)
    seconds, micro = divmod(rest, 1_000_000)
    return _moment(
        found.year, found.month, found.day, seconds // 3600, seconds // 60 % 60, seconds % 60, _exact(micro, digits)
    )


def of_time_micros(micros: int, digits: int) -> bytes:
    size = abs(micros)
    if size > _MOST_TIME:
        raise ValueError("a time beyond 838:59:59")
    seconds, micro = divmod(size, 1_000_000)
    hours = seconds // 3600
    return _sized(
        _SPAN.pack(micros < 0, hours // 24, hours % 24, seconds // 60 % 60, seconds % 60, _exact(micro, digits))
    )


def of_date_text(text: str) -> bytes:
    found = _DATE.fullmatch(text)
    if found is None:
        raise ValueError("not YYYY-MM-DD")
    year, month, day = map(int, found.groups())
    return _moment(year, month, day, 0, 0, 0, 0)


def of_datetime_text(text: str, digits: int) -> bytes:
    found = _DATETIME.fullmatch(text)
    if found is None:
        raise ValueError("not YYYY-MM-DD hh:mm:ss")
    *numbers, fraction = found.groups()
    year, month, day, hour, minute, second = map(int, numbers)
    return _moment(year, month, day, hour, minute, second, _exact(_micro(fraction), digits))


def of_timestamp_text(text: str, digits: int) -> bytes:
    """In UTC, with or without a Z. What is no moment of a TIMESTAMP is refused, but for the zero date."""
    raw = of_datetime_text(text.removesuffix("Z"), digits)
    year, month, day = _MOMENT.unpack(raw[1:])[:3]
    if (year, month, day) != (0, 0, 0):
        date(year, month, day)  # ValueError
        if not 1970 <= year <= 2106:
            raise ValueError("outside of the range of TIMESTAMP")
    return raw


def of_time_text(text: str, digits: int) -> bytes:
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError("not hh:mm:ss")
    sign, hour, minute, second, fraction = found.groups()
    micros = (int(hour) * 3600 + int(minute) * 60 + int(second)) * 1_000_000 + _micro(fraction)
    return of_time_micros(-micros if sign else micros, digits)


def _micro(fraction: str | None) -> int:
    return int((fraction or "").ljust(6, "0"))
