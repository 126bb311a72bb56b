"""Converts MySQL's binary JSON (sql-common/json_binary.h) to JSON text.

Members in stored order. How the rest is written is a `Notation`; `COMPACT` has no blanks and doubles without exponent:
the text that Debezium's binlog reader prints, but for what it garbles: negative times and opaque values, which are
MySQL's own text here (`-12:34:56.000001`, `base64:type15:...`).
"""

from __future__ import annotations

import re
import struct
from binascii import b2a_base64
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Final

import msgspec

from replicator.decode.values import decimals, java_floats
from replicator.errors import DecodeError
from replicator.model import types

_LITERALS: Final = {0: "null", 1: "true", 2: "false"}
INLINE: Final = frozenset({4, 5, 6})  # literal, int16, uint16: in the value entry itself
INLINE_LARGE: Final = frozenset({4, 5, 6, 7, 8})  # and the 32-bit integers in large objects and arrays
_NUMBERS: Final = {
    5: struct.Struct("<h"),
    6: struct.Struct("<H"),
    7: struct.Struct("<i"),
    8: struct.Struct("<I"),
    9: struct.Struct("<q"),
    10: struct.Struct("<Q"),
}
_DOUBLE: Final = struct.Struct("<d")
MAX_DEPTH: Final = 200
"""The servers refuse documents deeper than 100."""

_ESCAPED: Final = re.compile('[\x00-\x1f"\\\\]')
_SHORT: Final = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


class Notation(msgspec.Struct, frozen=True):
    """How a document is written.

    Attributes:
        comma, colon: what separates members, and names from values.
        quote: text to JSON string.
        double: number to JSON number.
        opaque: by the type byte of an opaque value: its bytes to JSON; others are `base64:typeN:...`.
    """

    comma: str
    colon: str
    quote: Callable[[str], str]
    double: Callable[[float], str]
    opaque: Mapping[int, Callable[[bytes], str]]


def to_text(raw: bytes, notation: Notation | None = None) -> str:
    """The document as JSON text, `COMPACT` by default. An empty value is what ALTER leaves in old rows, and means null.

    Raises:
        DecodeError: E2302, the bytes are no document.
    """
    if not raw:
        return "null"
    out: list[str] = []
    try:
        _value(raw[0], raw, 1, out, 0, notation or COMPACT)
    except (IndexError, struct.error, ValueError, KeyError, ArithmeticError) as error:
        raise DecodeError("E2302", "a JSON document is damaged", found=raw[:64].hex()) from error
    return "".join(out)


def _value(kind: int, raw: bytes, at: int, out: list[str], depth: int, notation: Notation) -> None:
    """Appends the value of type `kind` whose bytes start at `at`."""
    if kind <= 3:
        _container(kind, raw, at, out, depth, notation)
    elif kind == 4:
        out.append(_LITERALS[raw[at]])
    elif kind in _NUMBERS:
        out.append(str(_NUMBERS[kind].unpack_from(raw, at)[0]))
    elif kind == 11:
        out.append(notation.double(_DOUBLE.unpack_from(raw, at)[0]))
    elif kind == 12:
        out.append(notation.quote(_string(raw, at)))
    elif kind == 15:
        out.append(_opaque(raw[at], sized(raw, at + 1), notation))
    else:
        raise ValueError(kind)


def _container(kind: int, raw: bytes, base: int, out: list[str], depth: int, notation: Notation) -> None:
    """Object (0, large 1) or array (2, large 3): count, size, key entries, value entries; offsets count from `base`."""
    if depth > MAX_DEPTH or len(out) > 4 * len(raw) + 8:  # entries that share one value would multiply without end
        raise ValueError(depth)
    large = kind in (1, 3)
    width = 4 if large else 2
    read = uint32 if large else uint16
    count = read(raw, base)
    end = base + read(raw, base + width)
    if end > len(raw) or count > len(raw):
        raise ValueError(count)
    entry = base + 2 * width
    keys: list[str] = []
    if kind <= 1:
        for _ in range(count):
            start = base + read(raw, entry)
            name = cut(raw, start, uint16(raw, entry + width)).decode("utf-8", "replace")
            keys.append(notation.quote(name) + notation.colon)
            entry += width + 2
    out.append("{" if kind <= 1 else "[")
    inline = INLINE_LARGE if large else INLINE
    for index in range(count):
        if index:
            out.append(notation.comma)
        if keys:
            out.append(keys[index])
        inner = raw[entry]
        place = entry + 1 if inner in inline else base + read(raw, entry + 1)
        if place <= entry:
            raise ValueError(place)  # a value is never before its entry; refuses circles
        _value(inner, raw, place, out, depth + 1, notation)
        entry += 1 + width
    out.append("}" if kind <= 1 else "]")


def uint16(raw: bytes, at: int) -> int:
    return raw[at] | raw[at + 1] << 8


def uint32(raw: bytes, at: int) -> int:
    return int.from_bytes(cut(raw, at, 4), "little")


def cut(raw: bytes, start: int, length: int) -> bytes:
    """Raises IndexError where `raw` is shorter."""
    piece = raw[start : start + length]
    if len(piece) != length:
        raise IndexError(start + length)
    return piece


def sized(raw: bytes, at: int) -> bytes:
    """Bytes behind a length of 1 to 5 bytes, seven bits each, lowest first."""
    length = 0
    for shift in range(0, 35, 7):
        byte = raw[at]
        at += 1
        length |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return cut(raw, at, length)
    raise ValueError(length)


def _string(raw: bytes, at: int) -> str:
    return sized(raw, at).decode("utf-8", "replace")


def _quote(text: str) -> str:
    return '"' + _ESCAPED.sub(lambda m: _SHORT.get(m[0]) or f"\\u{ord(m[0]):04X}", text) + '"'


def _double(value: float) -> str:
    """Java's text where it has no exponent, else every digit of the exact value."""
    text = java_floats.double(value)
    return format(Decimal(value), "f") if "E" in text else text


def _opaque(kind: int, raw: bytes, notation: Notation) -> str:
    known = notation.opaque.get(kind)
    if known is not None:
        return known(raw)
    return f'"base64:type{kind}:{b2a_base64(raw, newline=False).decode("ascii")}"'


def decimal(raw: bytes) -> str:
    precision, scale = raw[0], raw[1]
    size, read = decimals.reader(precision, scale)
    return decimals.plain(read(cut(raw, 2, size)), scale)


def packed(raw: bytes) -> tuple[str, int, int, int]:
    """(sign, day part, clock part, microseconds) of the eight bytes that all temporal values have."""
    number = int.from_bytes(cut(raw, 0, 8), "little", signed=True)
    size = abs(number)
    return "-" if number < 0 else "", size >> 41, (size >> 24) & 0x1FFFF, size & 0xFFFFFF


def _fraction(microseconds: int) -> str:
    return f".{microseconds:06d}".rstrip("0") if microseconds else ""


def _time(raw: bytes) -> str:
    sign, days, seconds, microseconds = packed(raw)
    return f'"{sign}{clock(seconds, days)}{_fraction(microseconds)}"'


def clock(part: int, days: int = 0) -> str:
    """hh:mm:ss; `days`: of a TIME, whose hours go on into the day part."""
    return f"{(days << 5 | part >> 12) & 0x3FF:02d}:{(part >> 6) & 63:02d}:{part & 63:02d}"


def calendar_day(day: int) -> str:
    year, month = divmod(day >> 5, 13)
    return f"{year:04d}-{month:02d}-{day & 31:02d}"


def date(raw: bytes) -> str:
    return f'"{calendar_day(packed(raw)[1])}"'


def _datetime(raw: bytes) -> str:
    _, day, seconds, microseconds = packed(raw)
    return f'"{calendar_day(day)} {clock(seconds)}{_fraction(microseconds)}"'


_OPAQUE: Final[dict[int, Callable[[bytes], str]]] = {
    types.NEWDECIMAL: decimal,
    types.DATE: date,
    types.TIME: _time,
    types.DATETIME: _datetime,
    types.TIMESTAMP: _datetime,
}

COMPACT: Final = Notation(",", ":", _quote, _double, _OPAQUE)
