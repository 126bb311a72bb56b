"""Renders MySQL's binary JSON as Canal does: with the server's blanks and Java's doubles."""

from __future__ import annotations

import re
from typing import Final

from replicator.decode.values import java_floats, json_binary
from replicator.decode.values.json_binary import Notation, calendar_day, clock, packed
from replicator.model import types

_ESCAPED: Final = re.compile('[\x00-\x1f"\\\\\x7f-\xa0]')  # up to the no-break space, as Canal's own code has it
_SHORT: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def to_text(raw: bytes) -> str:
    """The document: `{"a": 1, "b": [1.0E100, "12:34:56.789000"]}`. Raises DecodeError E2302."""
    return json_binary.to_text(raw, SPACED)


def _quote(text: str) -> str:
    return '"' + _ESCAPED.sub(lambda m: _SHORT.get(m[0]) or f"\\u{ord(m[0]):04x}", text) + '"'


def _time(raw: bytes) -> str:
    sign, days, seconds, microseconds = packed(raw)
    if not (days or seconds or microseconds):
        return '"00:00:00"'
    return f'"{sign}{clock(seconds, days)}.{microseconds:06d}"'


def _datetime(raw: bytes) -> str:
    _, day, seconds, microseconds = packed(raw)
    if not (day or seconds or microseconds):
        return '"0000-00-00 00:00:00"'
    return f'"{calendar_day(day)} {clock(seconds)}.{microseconds:06d}"'


SPACED: Final = Notation(
    ", ",
    ": ",
    _quote,
    java_floats.double,
    {
        types.NEWDECIMAL: json_binary.decimal,
        types.DATE: json_binary.date,
        types.TIME: _time,
        types.DATETIME: _datetime,
        types.TIMESTAMP: _datetime,
    },
)
