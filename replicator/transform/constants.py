"""Converts a filter's literals to the type of the compared column (`model.condition`)."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final

from replicator.expression import tree
from replicator.model.condition import Constant, Kind

_MOMENT: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?)?(Z)?", re.ASCII)
_TIME: Final = re.compile(r"(-)?(\d{1,3}):([0-5]\d)(?::([0-5]\d)(?:\.(\d{1,6}))?)?", re.ASCII)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_WRITTEN: Final[dict[str, tuple[Kind, ...]]] = {
    "DATE": ("datetime", "timestamp"),
    "TIMESTAMP": ("datetime", "timestamp"),
    "TIME": ("time",),
}

WANTED: Final[dict[Kind, str]] = {
    "number": "a number",
    "text": "text in quotes",
    "bytes": "bytes as X'0FA8'",
    "datetime": "'2026-11-21' or '2026-11-21 13:05:00.25'",
    "timestamp": "'2026-11-21' or '2026-11-21 13:05:00.25', in UTC",
    "time": "'13:05:00' or '-838:59:59.5'",
}


def constant(literal: tree.Constant, kind: Kind) -> Constant | None:
    """None: it is of another kind, or no such time."""
    value = literal.value
    if literal.written and kind not in _WRITTEN[literal.written]:
        return None
    if isinstance(value, str):
        read = _READ.get(kind)
        return read(value) if read else None
    if isinstance(value, bytes):
        return value if kind == "bytes" else None
    if kind != "number":
        return None
    return int(value) if isinstance(value, bool) else _number(value)


def _number(value: Decimal) -> int | Decimal:
    whole = value.to_integral_value() if value.adjusted() < 40 else value
    return int(value) if whole == value and value.adjusted() < 40 else value


def _fields(text: str) -> tuple[datetime | None, bool] | None:
    """A moment, None for the zero date; whether it is said to be UTC. None when it is no moment."""
    match = _MOMENT.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    micro = int((match[7] or "").ljust(6, "0") or 0)
    if not (year or month or day):
        return None if hour or minute or second or micro else (None, bool(match[8]))
    try:
        return datetime(year, month, day, hour, minute, second, micro, UTC), bool(match[8])
    except ValueError:
        return None


def _digits(text: str) -> int | None:
    """DATETIME has no time zone, so none may be given."""
    found = _fields(text)
    if found is None or found[1]:
        return None
    return 0 if found[0] is None else int(found[0].strftime(f"{found[0].year}%m%d%H%M%S%f"))


def _instant(text: str) -> int | None:
    found = _fields(text)
    if found is None:
        return None
    if found[0] is None:
        return 0
    passed = found[0] - _EPOCH
    return (passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds


def _duration(text: str) -> int | None:
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    seconds = int(match[2]) * 3600 + int(match[3]) * 60 + int(match[4] or 0)
    micro = seconds * 1_000_000 + int((match[5] or "").ljust(6, "0"))
    return -micro if match[1] else micro


_READ: Final[dict[Kind, Callable[[str], Constant | None]]] = {
    "text": str,
    "datetime": _digits,
    "timestamp": _instant,
    "time": _duration,
}
