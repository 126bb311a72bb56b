"""Primitives of Kafka's wire format: integers, compact strings and arrays, tagged fields."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_INT64: Final = struct.Struct(">q")
_LONGEST_VARINT: Final = 5

NO_TAGS: Final = b"\0"
NULL: Final = b"\0"
"""A compact string, bytes or array that is null."""

int16: Final = _INT16.pack
int32: Final = _INT32.pack
int64: Final = _INT64.pack


class MalformedMessage(ValueError):
    """A message that does not follow the protocol: truncated, or with an invalid length."""


def uvarint(number: int) -> bytes:
    """An unsigned variable-length integer: 127 -> 7f, 128 -> 80 01."""
    if number < 0x80:
        return bytes((number,))
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def boolean(value: bool) -> bytes:
    return b"\1" if value else b"\0"


def string(value: str | None) -> bytes:
    """A string with a length of two bytes, as in request headers and messages that are not flexible."""
    if value is None:
        return b"\xff\xff"
    data = value.encode()
    return int16(len(data)) + data


def compact_string(value: str | None) -> bytes:
    """A string with its length plus one as unsigned varint; None: null."""
    if value is None:
        return NULL
    data = value.encode()
    return uvarint(len(data) + 1) + data


def array_length(count: int) -> bytes:
    """What stands in front of a compact array of `count` elements."""
    return uvarint(count + 1)


class Reader:
    """Reads values one after the other. Every method raises MalformedMessage at the end of the data."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes | bytearray | memoryview) -> None:
        self._data = memoryview(data)
        self._at = 0

    def _fixed(self, form: struct.Struct) -> int:
        try:
            (value,) = form.unpack_from(self._data, self._at)
        except struct.error as error:
            raise MalformedMessage("the message is truncated") from error
        self._at += form.size
        return int(value)

    def int8(self) -> int:
        value = self._take(1)[0]
        return value - 256 if value > 127 else value

    def int16(self) -> int:
        return self._fixed(_INT16)

    def int32(self) -> int:
        return self._fixed(_INT32)

    def int64(self) -> int:
        return self._fixed(_INT64)

    def boolean(self) -> bool:
        return self._take(1)[0] != 0

    def uuid(self) -> bytes:
        """16 bytes."""
        return bytes(self._take(16))

    def uvarint(self) -> int:
        number = shift = 0
        for _ in range(_LONGEST_VARINT):
            byte = self._take(1)[0]
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number
            shift += 7
        raise MalformedMessage("a variable-length integer is unterminated")

    def string(self) -> str | None:
        """A nullable string with a length of two bytes."""
        length = self.int16()
        return None if length < 0 else self._text(length)

    def compact_string(self) -> str | None:
        """A nullable compact string."""
        length = self.uvarint()
        return None if length == 0 else self._text(length - 1)

    def compact_bytes(self) -> bytes | None:
        length = self.uvarint()
        return None if length == 0 else bytes(self._take(length - 1))

    def bytes_(self) -> bytes | None:
        """Nullable bytes with a length of four bytes."""
        length = self.int32()
        return None if length < 0 else bytes(self._take(length))

    def array(self, element: Callable[[], T]) -> list[T]:
        """The elements of a compact array; [] for null."""
        return [element() for _ in range(max(0, self._count(self.uvarint() - 1)))]

    def plain_array(self, element: Callable[[], T]) -> list[T]:
        """The elements of an array with a length of four bytes; [] for null."""
        return [element() for _ in range(max(0, self._count(self.int32())))]

    def tags(self) -> dict[int, bytes]:
        """Tagged fields, by their number."""
        return {self.uvarint(): bytes(self._take(self.uvarint())) for _ in range(self._count(self.uvarint()))}

    def skip_tags(self) -> None:
        if self._at < len(self._data) and self._data[self._at] == 0:
            self._at += 1
        else:
            self.tags()

    @property
    def left(self) -> int:
        """The number of bytes that are not read yet."""
        return len(self._data) - self._at

    def _count(self, count: int) -> int:
        if count > self.left:
            raise MalformedMessage(f"{count} elements in {self.left} bytes")
        return count

    def _text(self, length: int) -> str:
        try:
            return str(self._take(length), "utf-8")
        except UnicodeDecodeError as error:
            raise MalformedMessage("a string is not UTF-8") from error

    def _take(self, length: int) -> memoryview:
        if length > self.left:
            raise MalformedMessage("the message is truncated")
        start, self._at = self._at, self._at + length
        return self._data[start : self._at]
