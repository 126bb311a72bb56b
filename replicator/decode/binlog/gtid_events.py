"""Parser of GTID events: MySQL's, untagged and tagged, and MariaDB's."""

from __future__ import annotations

import struct
from typing import Final

import msgspec

from replicator.errors import DecodeError

_MYSQL: Final = struct.Struct("<B16sq").unpack_from  # flags, uuid, number
_FIRST_SIZE: Final = 25
"""Bytes of the event in MySQL 5.6, which knows no more."""
_CLOCK_SIZE: Final = 42
"""With the logical clock's type 1 and its two values 8, since MySQL 5.7.5; what follows them came with 8.0."""
_MARIADB: Final = struct.Struct("<QIB").unpack_from

STANDALONE: Final = 1
PREPARED_XA: Final = 64

_CLOCK_TYPE: Final = 2
_TIME_SIZE: Final = 7
_HAS_ORIGINAL: Final = 1 << 55

_LONGER: Final = 251
_SIZES: Final = {252: 2, 253: 3, 254: 8}
"""First byte of a longer integer -> bytes behind it."""


class Tagged(msgspec.Struct, frozen=True):
    tsid: str
    number: int
    commit_us: int


class UuidTexts(dict[bytes, str]):
    """16 bytes -> text, made once per server; bounded, as a hostile stream could name any number of them."""

    def __missing__(self, raw: bytes) -> str:
        if len(self) > 1000:
            self.clear()
        text = raw.hex()
        found = self[raw] = f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
        return found


def mysql(b: bytes, p: int, end: int) -> tuple[bytes, int, int, int]:
    """(uuid, number, immediate commit time in microseconds, bytes that the transaction takes in the binlog). The last
    two are 0 before MySQL 8.0."""
    size = end - p
    if size < _FIRST_SIZE or _FIRST_SIZE < size < _CLOCK_SIZE:
        raise DecodeError("E2302", "a GTID event is truncated", found=f"{size} bytes")
    _, uuid, number = _MYSQL(b, p)
    if size < _CLOCK_SIZE + _TIME_SIZE or b[p + _FIRST_SIZE] != _CLOCK_TYPE:
        return uuid, number, 0, 0
    commit = int.from_bytes(b[p + 42 : p + 49], "little")
    return uuid, number, commit & ~_HAS_ORIGINAL, _length(b, p + (56 if commit & _HAS_ORIGINAL else 49), end)


def _length(b: bytes, p: int, end: int) -> int:
    """An integer of the client/server protocol, one to nine bytes; 0 where there is none."""
    if p >= end:
        return 0
    first = b[p]
    if first < _LONGER:
        return first
    size = _SIZES.get(first, end)
    return int.from_bytes(b[p + 1 : p + 1 + size], "little") if p + 1 + size <= end else 0


def mariadb(b: bytes, p: int, end: int) -> tuple[int, int, int]:
    """(sequence number, domain, flags)."""
    if p + 13 > end:
        raise DecodeError("E2302", "a GTID event is truncated", found=f"{end - p} bytes")
    number, domain, flags = _MARIADB(b, p)
    return number, domain, flags


def tagged(b: bytes, p: int, end: int) -> Tagged:
    """GTID_TAGGED_LOG_EVENT: a list of (field number, value) in the format of MySQL's serialization library.

    Fields in order: 0 flags, 1 uuid, 2 number, 3 tag, 4 and 5 logical clock, 6 immediate commit time; those behind are
    not needed.
    """
    reader = _Varlen(b, p, end)
    version, size = reader.unsigned(), reader.unsigned()
    reader.unsigned()  # number of the last field that a reader must know
    if (version != 1 and version != 2) or size > end - p:
        raise DecodeError(
            "E2301",
            "a GTID_TAGGED_LOG_EVENT in an unknown version",
            found=f"version {version}",
            fix="Use a version of mysql-replicator that supports the release of the source.",
        )
    fields: dict[int, bytes | int] = {}
    for wanted in range(7):
        field = reader.unsigned()
        if field != wanted:
            raise DecodeError("E2302", "a GTID event lacks a field", found=f"field {field}", wanted=f"field {wanted}")
        fields[field] = reader.value(field)
    uuid, tag, number, commit = fields[1], fields[3], fields[2], fields[6]
    assert isinstance(uuid, bytes) and isinstance(tag, bytes) and isinstance(number, int) and isinstance(commit, int)  # noqa: S101
    text = UuidTexts()[uuid]
    return Tagged(f"{text}:{tag.decode('ascii')}" if tag else text, number, commit)


class _Varlen:
    """Integers whose first byte tells by its low one bits how many bytes follow."""

    def __init__(self, b: bytes, at: int, end: int) -> None:
        self._b, self._at, self._end = b, at, end

    def unsigned(self) -> int:
        first = self._take(1)[0]
        more = (first ^ (first + 1)).bit_length() - 1  # trailing one bits
        if more >= 8:
            return int.from_bytes(self._take(8), "little")
        return first >> (more + 1) | int.from_bytes(self._take(more), "little") << (7 - more)

    def signed(self) -> int:
        value = self.unsigned()
        return value >> 1 if not value & 1 else -(value >> 1) - 1

    def value(self, field: int) -> bytes | int:
        if field == 1:
            return bytes(self.unsigned() & 0xFF for _ in range(16))
        if field == 3:
            return self._take(self.unsigned())
        return self.signed() if field in (2, 4, 5) else self.unsigned()

    def _take(self, size: int) -> bytes:
        at = self._at
        if at + size > self._end:
            raise DecodeError("E2302", "a GTID event is truncated", found=f"{self._end - at} bytes")
        self._at = at + size
        return self._b[at : self._at]
