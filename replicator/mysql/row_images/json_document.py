"""JSON text as MySQL selects it -> the binary document that its binlog has (json_binary.h).

The text does not say everything: a DECIMAL inside a document looks like a DOUBLE, a DATE like a string. A number that
is not the shortest text of a DOUBLE is taken for a DECIMAL; what was a date stays a string. Both print the same text.
Integers have the type that MySQL's parser gives them, as most documents were texts: from 2**32 on they are unsigned.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import msgspec

from replicator.model import types
from replicator.mysql.row_images.decimals import pack

_SMALL, _LARGE = 2, 4
_FITS: Final = 1 << 16
_FORMS: Final = ((5, struct.Struct("<h")), (7, struct.Struct("<i")), (9, struct.Struct("<q")))
_UNSIGNED: Final = 1 << 32
_INLINE: Final = {_SMALL: frozenset({4, 5}), _LARGE: frozenset({4, 5, 7})}
_LITERALS: Final = {None: b"\0", True: b"\x01", False: b"\x02"}
Body: TypeAlias = tuple[int, bytes]
"""Type byte and bytes of a value."""


class _Decimal(msgspec.Struct, frozen=True):
    text: str


def _number(text: str) -> float | _Decimal:
    value = float(text)
    return value if "e" in text or repr(value) == text else _Decimal(text)


_DECODER: Final = msgspec.json.Decoder(float_hook=_number)


def encode(text: bytes) -> bytes:
    """Raises ValueError for text that is not JSON."""
    try:
        value = _DECODER.decode(text)
    except msgspec.DecodeError as error:
        raise ValueError(f"a JSON document: {error}") from error
    kind, body = _value(value)
    return bytes((kind,)) + body


def _value(value: Any) -> Body:
    if value is None or isinstance(value, bool):
        return 4, _LITERALS[value]
    if isinstance(value, int):
        return _integer(value)
    if isinstance(value, float):
        return 11, struct.pack("<d", value)
    if isinstance(value, str):
        raw = value.encode()
        return 12, _length(len(raw)) + raw
    if isinstance(value, _Decimal):
        return _decimal(value.text)
    keys = [key.encode() for key in value] if isinstance(value, dict) else []
    bodies = [_value(one) for one in (value.values() if isinstance(value, dict) else value)]
    kind = 0 if isinstance(value, dict) else 2
    small = _container(keys, bodies, _SMALL) if len(bodies) < _FITS else b""
    return (kind, small) if 0 < len(small) < _FITS else (kind + 1, _container(keys, bodies, _LARGE))


def _decimal(text: str) -> Body:
    """An opaque value of type NEWDECIMAL: precision, scale, digits."""
    whole, _, fraction = text.lstrip("-").partition(".")
    precision, scale = len(whole.lstrip("0")) + len(fraction), len(fraction)
    raw = bytes((precision, scale)) + pack(text.encode(), precision, scale)
    return 15, bytes((types.NEWDECIMAL,)) + _length(len(raw)) + raw


def _integer(value: int) -> Body:
    if not -(1 << 63) <= value < 1 << 64:
        return _decimal(str(value))
    if value >= _UNSIGNED:
        return 10, struct.pack("<Q", value)
    kind, form = next(each for each in _FORMS if -(1 << 8 * each[1].size - 1) <= value < 1 << 8 * each[1].size - 1)
    return kind, form.pack(value)


def _length(count: int) -> bytes:
    out = bytearray()
    while count > 0x7F:
        out.append(count & 0x7F | 0x80)
        count >>= 7
    out.append(count)
    return bytes(out)


def _container(keys: Sequence[bytes], values: Sequence[Body], width: int) -> bytes:
    """It is of no use if it takes more than `width` bytes can count. `keys`: empty for an array."""
    place = 2 * width + len(keys) * (width + 2) + len(values) * (1 + width)
    entries, tail = bytearray(), bytearray()
    for key in keys:
        entries += _offset(place + len(tail), width) + struct.pack("<H", len(key))
        tail += key
    for kind, body in values:
        entries.append(kind)
        if kind in _INLINE[width]:
            entries += body.ljust(width, b"\0")
        else:
            entries += _offset(place + len(tail), width)
            tail += body
    size = 2 * width + len(entries) + len(tail)
    return _offset(len(values), width) + _offset(size, width) + bytes(entries) + bytes(tail)


def _offset(number: int, width: int) -> bytes:
    return (number & (1 << 8 * width) - 1).to_bytes(width, "little")
