"""MySQL's binary JSON (sql-common/json_binary.h) -> SQL expressions of the same document.

A document of texts, numbers and constants is a JSON text. One with values that JSON texts do not have (DECIMAL, times,
bytes, integers that a parser would give the other sign) is made by JSON_OBJECT and JSON_ARRAY.
"""

from __future__ import annotations

import re
import struct
from binascii import hexlify
from collections.abc import Callable
from typing import Final

from replicator.model import types
from replicator.sink.mysql import value_texts

_NULL: Final = b"_utf8mb4 X'6e756c6c'"
_CONSTANTS: Final = {0: b"null", 1: b"true", 2: b"false"}
_INTEGERS: Final = {5: "<h", 6: "<H", 7: "<i", 8: "<I", 9: "<q", 10: "<Q"}
_UNSIGNED: Final = frozenset({6, 8, 10})
_INLINE: Final = {False: frozenset({4, 5, 6}), True: frozenset({4, 5, 6, 7, 8})}
"""Types whose values are in the entries of small and of large objects and arrays."""
_DOUBLE, _STRING, _OPAQUE = 11, 12, 15
_MOST_SIGNED: Final = (1 << 32) - 1
"""Larger integers in a JSON text become UNSIGNED, others signed ones."""
_DEPTH: Final = 101
"""Levels that the servers accept."""
_ESCAPES: Final = {b"\b": b"b", b"\t": b"t", b"\n": b"n", b"\f": b"f", b"\r": b"r", b'"': b'"', b"\\": b"\\"}
_SPECIAL: Final = re.compile(rb'[\x00-\x1f"\\]')


class Unwritable(ValueError):
    """A value of a document that no SQL expression makes."""


def document(value: bytes) -> bytes:
    """Raises Unwritable; ValueError: damaged. Empty: what ALTER leaves in old rows, which is null."""
    if not value:
        return _NULL
    try:
        return _document(value)
    except (IndexError, KeyError, struct.error) as error:
        raise _damaged(value) from error


def text_of(value: bytes) -> bytes | None:
    """The document as a JSON text, in utf8mb4; None: no text says what it is. Raises ValueError: damaged."""
    if not value:
        return b"null"
    try:
        return _text(value)
    except (IndexError, KeyError, struct.error) as error:
        raise _damaged(value) from error


def _damaged(value: bytes) -> ValueError:
    return ValueError(f"a JSON document that is damaged: {value[:32].hex()}")


def _text(value: bytes) -> bytes | None:
    parts: list[bytes] = []
    return b"".join(parts) if _Reader(value, parts, _Text()).write(value[0], 1, 0) else None


def _document(value: bytes) -> bytes:
    text = _text(value)
    if text is not None:
        return b"_utf8mb4 X'%s'" % hexlify(text)
    made: list[bytes] = []
    _Reader(value, made, _Expression()).write(value[0], 1, 0)
    return b"CAST(%s AS JSON)" % b"".join(made)


def _escape(character: bytes) -> bytes:
    short = _ESCAPES.get(character)
    return b"\\u%04X" % character[0] if short is None else b"\\" + short


class _Text:
    """Notation of JSON. `opaque`: None: there is none."""

    objects, arrays, colon = (b"{", b"}"), (b"[", b"]"), b":"

    def string(self, raw: bytes) -> bytes:
        return b'"%s"' % _SPECIAL.sub(lambda found: _escape(found[0]), raw)

    def constant(self, kind: int) -> bytes:
        return _CONSTANTS[kind]

    def integer(self, kind: int, value: int) -> bytes | None:
        return b"%d" % value if (kind in _UNSIGNED) == (value > _MOST_SIGNED) else None

    def double(self, value: float) -> bytes:
        return repr(value).encode()

    def opaque(self, kind: int, raw: bytes) -> bytes | None:
        return None


class _Expression(_Text):
    objects, arrays, colon = (b"JSON_OBJECT(", b")"), (b"JSON_ARRAY(", b")"), b","

    def string(self, raw: bytes) -> bytes:
        return b"_utf8mb4 X'%s'" % hexlify(raw)

    def constant(self, kind: int) -> bytes:
        return b"CAST(_utf8mb4 X'%s' AS JSON)" % hexlify(_CONSTANTS[kind])

    def integer(self, kind: int, value: int) -> bytes:
        return b"CAST(%d AS UNSIGNED)" % value if kind in _UNSIGNED else b"CAST(%d AS SIGNED)" % value

    def double(self, value: float) -> bytes:
        text = repr(value)
        return (text if "e" in text else f"{text}e0").encode()

    def opaque(self, kind: int, raw: bytes) -> bytes:
        made = _OPAQUES.get(kind)
        if made is None:
            raise Unwritable(f"a value of type {types.NAMES.get(kind, str(kind))} in a JSON document")
        return made(raw)


class _Reader:
    """Appends the values of a document to `out`."""

    def __init__(self, raw: bytes, out: list[bytes], notation: _Text) -> None:
        self._raw, self._out, self._notation = raw, out, notation

    def write(self, kind: int, at: int, depth: int) -> bool:
        """False: the notation has not every value of it."""
        if kind <= 3:
            return self._container(kind, at, depth)
        made = self._scalar(kind, at)
        if made is None:
            return False
        self._out.append(made)
        return True

    def _scalar(self, kind: int, at: int) -> bytes | None:
        raw, notation = self._raw, self._notation
        if kind == 4:
            return notation.constant(raw[at])
        if kind in _INTEGERS:
            return notation.integer(kind, struct.unpack_from(_INTEGERS[kind], raw, at)[0])
        if kind == _DOUBLE:
            return notation.double(struct.unpack_from("<d", raw, at)[0])
        if kind == _STRING:
            return notation.string(_sized(raw, at))
        if kind == _OPAQUE:
            return notation.opaque(raw[at], _sized(raw, at + 1))
        raise ValueError(f"a JSON value of type {kind}")

    def _container(self, kind: int, base: int, depth: int) -> bool:
        """Count, size, entries of keys, entries of values; offsets count from `base`."""
        raw, large, named = self._raw, kind in (1, 3), kind <= 1
        width = 4 if large else 2
        count = _number(raw, base, width)
        if depth > _DEPTH or len(self._out) > 4 * len(raw) + 8:  # entries that share a value would multiply
            raise ValueError("a JSON document that is too deep")
        opened, closed = self._notation.objects if named else self._notation.arrays
        self._out.append(opened)
        keys = base + 2 * width
        entries = keys + count * (width + 2) if named else keys
        for index in range(count):
            if index:
                self._out.append(b",")
            if named:
                entry = keys + index * (width + 2)
                start = base + _number(raw, entry, width)
                name = raw[start : start + _number(raw, entry + width, 2)]
                self._out += (self._notation.string(name), self._notation.colon)
            entry = entries + index * (1 + width)
            inner = raw[entry]
            place = entry + 1 if inner in _INLINE[large] else base + _number(raw, entry + 1, width)
            if place <= entry:
                raise ValueError("a JSON document that contains itself")
            if not self.write(inner, place, depth + 1):
                return False
        self._out.append(closed)
        return True


def _number(raw: bytes, at: int, width: int) -> int:
    if at + width > len(raw):
        raise ValueError("a JSON document that ends early")
    return int.from_bytes(raw[at : at + width], "little")


def _sized(raw: bytes, at: int) -> bytes:
    """Bytes behind a length, seven bits of it in each byte."""
    length = shift = 0
    while True:
        byte = raw[at]
        at += 1
        length |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            break
    if at + length > len(raw):
        raise ValueError("a JSON document that ends early")
    return raw[at : at + length]


def _decimal(raw: bytes) -> bytes:
    precision, scale = raw[0], raw[1]
    text = value_texts.decimal(raw[2:], precision, scale)
    return b"CAST(%s AS DECIMAL(%d,%d))" % (text.encode(), precision, scale)


def _packed(raw: bytes) -> tuple[bytes, int, int, int]:
    """(sign, date, time of day, microseconds), of eight bytes that all times have."""
    value = int.from_bytes(raw[:8], "little", signed=True)
    size = abs(value)
    return b"-" if value < 0 else b"", size >> 41, size >> 24 & 0x1FFFF, size & 0xFFFFFF


def _day(day: int) -> bytes:
    months = day >> 5
    return b"%04d-%02d-%02d" % (months // 13, months % 13, day & 31)


def _clock(hours: int, clock: int, micro: int) -> bytes:
    return b"%02d:%02d:%02d.%06d" % (hours, clock >> 6 & 63, clock & 63, micro)


def _date(raw: bytes) -> bytes:
    return b"CAST('%s' AS DATE)" % _day(_packed(raw)[1])


def _time(raw: bytes) -> bytes:
    sign, day, clock, micro = _packed(raw)
    return b"CAST('%s%s' AS TIME(6))" % (sign, _clock(day << 5 | clock >> 12, clock, micro))


def _datetime(raw: bytes) -> bytes:
    _, day, clock, micro = _packed(raw)
    return b"CAST('%s %s' AS DATETIME(6))" % (_day(day), _clock(clock >> 12, clock, micro))


_OPAQUES: Final[dict[int, Callable[[bytes], bytes]]] = {
    types.NEWDECIMAL: _decimal,
    types.DATE: _date,
    types.TIME: _time,
    types.DATETIME: _datetime,
    types.TIMESTAMP: _datetime,  # the document is the same but for this number
    types.VARCHAR: lambda raw: b"X'%s'" % hexlify(raw),
}
