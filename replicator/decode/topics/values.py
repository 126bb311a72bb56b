"""JSON values of records -> values as the binary protocol has them, by the column of the target.

Each notation is the inverse of a renderer (`decode/renderers`). A value that the column would store otherwise is
refused with ValueError.
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias

import msgspec

from replicator.decode.topics import temporal
from replicator.decode.topics.texts import LONGEST, encoder
from replicator.model import types
from replicator.model.decoding import from_json
from replicator.mysql.table_shape import BINARY, ColumnShape

Notation: TypeAlias = Literal[
    "int", "int_java", "unsigned_base64", "decimal_base64", "decimal_text", "decimal_number", "float", "year", "bit",
    "bit_int", "days", "date_text", "datetime_ms", "datetime_us", "datetime_text", "timestamp_text", "time_us",
    "time_text", "text", "base64", "base64_url", "hex", "enum", "set", "set_array", "json_text", "json", "geometry",
    "vector"
]  # fmt: skip
Pack: TypeAlias = Callable[[bytes], bytes]
"""JSON of a value that is not null -> its bytes, behind a length where the protocol has one. Raises ValueError."""

_FIXED: Final = {types.TINY: 1, types.SHORT: 2, types.INT24: 4, types.LONG: 4, types.LONGLONG: 8}
_BITS: Final = {types.TINY: 8, types.SHORT: 16, types.INT24: 24, types.LONG: 32, types.LONGLONG: 64}
_NUMBER: Final = re.compile(r"(-?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))?")


def sent_type(column: ColumnShape) -> int:
    """The type that the protocol has for the column: ENUM and SET are numbers."""
    return types.LONGLONG if column.type in (types.ENUM, types.SET) else column.type


def packer(column: ColumnShape, notation: Notation) -> Pack:
    return _MAKERS[notation](column)


def _json(raw: bytes, *kinds: type) -> Any:
    value = msgspec.json.decode(raw)
    if type(value) not in kinds:
        raise ValueError(
            f"a {_KINDS.get(type(value), 'value')} instead of a {' or '.join(_KINDS[kind] for kind in kinds)}"
        )
    return value


_KINDS: Final = {
    bool: "boolean", int: "number", float: "number", str: "string", list: "list", dict: "object"
}  # fmt: skip


def sized(raw: bytes) -> bytes:
    """Behind its length, as the protocol writes one."""
    size = len(raw)
    if size < 251:
        return bytes((size,)) + raw
    if size < 1 << 16:
        return b"\xfc" + size.to_bytes(2, "little") + raw
    if size < 1 << 24:
        return b"\xfd" + size.to_bytes(3, "little") + raw
    return b"\xfe" + size.to_bytes(8, "little") + raw


# Numbers


def _integer(column: ColumnShape, read: Callable[[bytes], int]) -> Pack:
    size, bits = _FIXED[column.type], _BITS[column.type]
    low, high = (0, 1 << bits) if column.unsigned else (-(1 << bits - 1), 1 << bits - 1)

    def pack(raw: bytes) -> bytes:
        value = read(raw)
        if not low <= value < high:
            raise ValueError("a number outside of the column's range")
        return value.to_bytes(size, "little", signed=value < 0)

    return pack


def _int(column: ColumnShape) -> Pack:
    return _integer(column, lambda raw: int(_json(raw, int, bool)))


def _int_java(column: ColumnShape) -> Pack:
    """2^63 and above are negative."""
    if column.type != types.LONGLONG or not column.unsigned:
        return _int(column)
    return _integer(column, lambda raw: int(_json(raw, int)) % (1 << 64))


def _unsigned_base64(column: ColumnShape) -> Pack:
    return _integer(column, lambda raw: _signed(_from_base64(raw)))


def _signed(raw: bytes) -> int:
    return int.from_bytes(raw, "big", signed=True)


def _decimal(column: ColumnShape, read: Callable[[bytes], str]) -> Pack:
    whole, scale = (column.meta >> 8) - (column.meta & 0xFF), column.meta & 0xFF

    def pack(raw: bytes) -> bytes:
        sign, digits, fraction = _parts(read(raw))
        digits, fraction = digits.lstrip("0"), fraction.rstrip("0")
        if len(digits) > whole or len(fraction) > scale or (sign and column.unsigned and (digits or fraction)):
            raise ValueError(f"a number that is not one of DECIMAL({whole + scale},{scale})")
        return sized(f"{sign}{digits or '0'}.{fraction}".encode())

    return pack


def _parts(text: str) -> tuple[str, str, str]:
    """Sign, digits in front of the point, digits behind it."""
    found = _NUMBER.fullmatch(text)
    if found is None or not (found[2] or found[3]):
        raise ValueError("not a decimal number")
    digits, fraction, exponent = found[2], found[3] or "", int(found[4] or 0)
    if exponent > 0:
        digits, fraction = digits + fraction[:exponent].ljust(exponent, "0"), fraction[exponent:]
    elif exponent < 0:
        moved = digits.rjust(-exponent, "0")
        digits, fraction = moved[:exponent], moved[exponent:] + fraction
    return found[1], digits, fraction


def _decimal_base64(column: ColumnShape) -> Pack:
    scale = column.meta & 0xFF

    def read(raw: bytes) -> str:
        value = _signed(_from_base64(raw))
        digits = str(abs(value)).rjust(scale + 1, "0")
        return f"{'-' * (value < 0)}{digits[: len(digits) - scale]}.{digits[len(digits) - scale :]}"

    return _decimal(column, read)


def _decimal_text(column: ColumnShape) -> Pack:
    return _decimal(column, lambda raw: str(_json(raw, str)))


def _decimal_number(column: ColumnShape) -> Pack:
    """The digits are taken as they are written: a double would not have all of them."""
    return _decimal(column, lambda raw: raw.decode("ascii"))


def _float(column: ColumnShape) -> Pack:
    form = struct.Struct("<f" if column.type == types.FLOAT else "<d")

    def pack(raw: bytes) -> bytes:
        try:
            return form.pack(_json(raw, float, int))
        except OverflowError:
            raise ValueError("a number outside of the column's range") from None

    return pack


def _year(column: ColumnShape) -> Pack:
    def pack(raw: bytes) -> bytes:
        year = _json(raw, int)
        if year and not 1901 <= year <= 2155:
            raise ValueError("not a YEAR")
        return int(year).to_bytes(2, "little")

    return pack


def _bits(column: ColumnShape, read: Callable[[bytes], int]) -> Pack:
    bits = 8 * (column.meta >> 8) + (column.meta & 0xFF)

    def pack(raw: bytes) -> bytes:
        value = read(raw)
        if not 0 <= value < 1 << bits:
            raise ValueError(f"more than {bits} bits")
        return sized(value.to_bytes((bits + 7) // 8, "big"))

    return pack


def _bit(column: ColumnShape) -> Pack:
    if column.meta == 1:
        return _bits(column, lambda raw: int(_json(raw, bool)))
    return _bits(column, lambda raw: int.from_bytes(_from_base64(raw), "little"))


def _bit_int(column: ColumnShape) -> Pack:
    return _bits(column, lambda raw: int(_json(raw, int)))


# Dates and times


def _days(column: ColumnShape) -> Pack:
    return lambda raw: temporal.of_days(_json(raw, int))


def _date_text(column: ColumnShape) -> Pack:
    return lambda raw: temporal.of_date_text(_json(raw, str))


def _datetime_ms(column: ColumnShape) -> Pack:
    return lambda raw: temporal.of_micros(1000 * _json(raw, int), column.meta)


def _datetime_us(column: ColumnShape) -> Pack:
    return lambda raw: temporal.of_micros(_json(raw, int), column.meta)


def _datetime_text(column: ColumnShape) -> Pack:
    return lambda raw: temporal.of_datetime_text(_json(raw, str), column.meta)


def _timestamp_text(column: ColumnShape) -> Pack:
    return lambda raw: temporal.of_timestamp_text(_json(raw, str), column.meta)


def _time_us(column: ColumnShape) -> Pack:
    return lambda raw: temporal.of_time_micros(_json(raw, int), column.meta)


def _time_text(column: ColumnShape) -> Pack:
    return lambda raw: temporal.of_time_text(_json(raw, str), column.meta)


# Texts and bytes


def _text(column: ColumnShape) -> Pack:
    assert column.collation is not None, "a column of text has one"  # noqa: S101
    encode, most = encoder(column.collation), _most(column)
    characters = most // LONGEST.get(column.charset, 1) if column.type in types.CHARACTERS else most

    def pack(raw: bytes) -> bytes:
        text = _json(raw, str)
        value = encode(text)
        if len(value) > most or len(text) > characters:
            raise ValueError(f"a text of {len(text)} characters, {len(value)} bytes, that is too long for the column")
        return sized(value)

    return pack


def _most(column: ColumnShape) -> int:
    return int(column.meta) if column.type in types.CHARACTERS else (1 << 8 * column.meta) - 1


def _bytes(column: ColumnShape, read: Callable[[bytes], bytes]) -> Pack:
    most = _most(column)

    def pack(raw: bytes) -> bytes:
        value = read(raw)
        if len(value) > most:
            raise ValueError(f"{len(value)} bytes, where the column has at most {most}")
        return sized(value)

    return pack


def _from_base64(raw: bytes, altchars: bytes | None = None) -> bytes:
    try:
        return base64.b64decode(_json(raw, str), altchars, validate=True)
    except binascii.Error:
        raise ValueError("not Base64") from None


def _base64(column: ColumnShape) -> Pack:
    return _bytes(column, _from_base64)


def _base64_url(column: ColumnShape) -> Pack:
    return _bytes(column, lambda raw: _from_base64(raw, b"-_"))


def _hex(column: ColumnShape) -> Pack:
    return _bytes(column, lambda raw: bytes.fromhex(_json(raw, str)))


def _member(column: ColumnShape) -> Callable[[str], int]:
    numbers = {text: number for number, text in reversed(list(enumerate(column.texts, 1)))}

    def number(text: str) -> int:
        if text not in numbers:
            raise ValueError(f"{text[:40]!r}, which the column does not list")
        return numbers[text]

    return number


def _enum(column: ColumnShape) -> Pack:
    """The error value is an empty text."""
    number = _member(column)

    def pack(raw: bytes) -> bytes:
        text = _json(raw, str)
        return (number(text) if text or text in column.texts else 0).to_bytes(8, "little")

    return pack


def _members(column: ColumnShape, read: Callable[[bytes], list[str]]) -> Pack:
    number = _member(column)

    def pack(raw: bytes) -> bytes:
        value = 0
        for text in read(raw):
            value |= 1 << number(text) - 1
        return value.to_bytes(8, "little")

    return pack


def _set(column: ColumnShape) -> Pack:
    def read(raw: bytes) -> list[str]:
        text = _json(raw, str)
        return text.split(",") if text else []

    return _members(column, read)


def _set_array(column: ColumnShape) -> Pack:
    return _members(column, lambda raw: [str(one) for one in _json(raw, list)])


# Documents, geometry, vectors


def _json_text(column: ColumnShape) -> Pack:
    return lambda raw: sized(_json(raw, str).encode())


def _document(column: ColumnShape) -> Pack:
    return sized


class _Shape(msgspec.Struct):
    wkb: str
    srid: int | None = None


def _geometry(column: ColumnShape) -> Pack:
    def pack(raw: bytes) -> bytes:
        try:
            shape = from_json(raw, _Shape)
            wkb = base64.b64decode(shape.wkb, validate=True)
            return sized((shape.srid or 0).to_bytes(4, "little") + wkb)
        except (msgspec.ValidationError, binascii.Error, OverflowError):
            raise ValueError("not an object with wkb and srid") from None

    return pack


def _vector(column: ColumnShape) -> Pack:
    def pack(raw: bytes) -> bytes:
        numbers = _json(raw, list)
        if column.dimensions is not None and len(numbers) > column.dimensions:
            raise ValueError(f"{len(numbers)} dimensions")
        try:
            return sized(struct.pack(f"<{len(numbers)}f", *numbers))
        except (struct.error, OverflowError):
            raise ValueError("not a list of numbers") from None

    return pack


_MAKERS: Final[dict[Notation, Callable[[ColumnShape], Pack]]] = {
    "int": _int, "int_java": _int_java, "unsigned_base64": _unsigned_base64, "decimal_base64": _decimal_base64,
    "decimal_text": _decimal_text, "decimal_number": _decimal_number, "float": _float, "year": _year, "bit": _bit,
    "bit_int": _bit_int, "days": _days, "date_text": _date_text, "datetime_ms": _datetime_ms,
    "datetime_us": _datetime_us, "datetime_text": _datetime_text, "timestamp_text": _timestamp_text,
    "time_us": _time_us, "time_text": _time_text, "text": _text, "base64": _base64, "base64_url": _base64_url,
    "hex": _hex, "enum": _enum, "set": _set, "set_array": _set_array, "json_text": _json_text, "json": _document,
    "geometry": _geometry, "vector": _vector,
}  # fmt: skip


def is_binary(column: ColumnShape) -> bool:
    """Of characters or BLOBs: bytes without a character set."""
    return column.collation == BINARY
