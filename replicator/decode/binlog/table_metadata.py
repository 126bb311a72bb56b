"""The optional metadata of TABLE_MAP events (`Table_map_event::Optional_metadata_field_type` in MySQL's rows_event.h;
MariaDB's is the same up to type 11)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from replicator.decode.values import charsets
from replicator.decode.values.byte_reader import ByteReader
from replicator.errors import DecodeError
from replicator.model import types
from replicator.model.table import Column

_NUMERIC: Final = types.INTEGERS | {types.FLOAT, types.DOUBLE, types.NEWDECIMAL, types.YEAR}
"""Columns with a sign bit; that YEAR has one is seen in the events of both servers."""
_CHARACTER: Final = types.CHARACTERS | types.BLOBS | {types.MARIADB_BLOB_COMPRESSED, types.MARIADB_VARCHAR_COMPRESSED}
_CHOICES: Final = frozenset({types.ENUM, types.SET})
_UTF8MB4: Final = 45


class ColumnMetadata(msgspec.Struct):
    """A column while its metadata is being read; members are bytes until their character set is known."""

    index: int
    name: str
    type: int
    meta: int
    nullable: bool = True
    unsigned: bool = False
    collation: int | None = None
    members: list[bytes] = []
    geometry: int | None = None
    visible: bool = True
    dimensions: int | None = None

    def column(self) -> Column:
        """Raises DecodeError E2307 for members in a character set that is not known."""
        collation = _UTF8MB4 if self.collation is None else self.collation
        members = tuple(charsets.decode(collation, member) for member in self.members)
        return Column(
            self.index,
            self.name,
            self.type,
            self.meta,
            self.nullable,
            self.unsigned,
            self.collation,
            members,
            self.geometry,
            self.visible,
            self.dimensions,
        )


class OptionalMetadata:
    """The optional metadata: a list of (type, length, value). Unknown types are passed over, as the servers do."""

    def __init__(self, fields: list[ColumnMetadata], *, mariadb: bool) -> None:
        # MariaDB lists GEOMETRY with the character columns (as binary), MySQL does not.
        self._characters = _CHARACTER | {types.GEOMETRY} if mariadb else _CHARACTER
        self.fields = fields
        self.named = False
        self.primary_key: tuple[int, ...] = ()

    def read(self, kind: int, value: ByteReader) -> None:
        reads: dict[int, Callable[[ByteReader], None]] = {
            1: self._signedness,
            2: lambda part: self._default_collation(part, self._characters),
            3: lambda part: self._each(part, self._characters, "collation"),
            4: self._names,
            5: lambda part: self._members(part, types.SET),
            6: lambda part: self._members(part, types.ENUM),
            7: lambda part: self._each(part, frozenset({types.GEOMETRY}), "geometry"),
            8: self._simple_key,
            9: self._prefixed_key,
            10: lambda part: self._default_collation(part, _CHOICES),
            11: lambda part: self._each(part, _CHOICES, "collation"),
            12: self._visibility,
            13: lambda part: self._each(part, frozenset({types.VECTOR}), "dimensions"),
        }
        read = reads.get(kind)
        if read is not None:
            read(value)

    def _of(self, kinds: frozenset[int]) -> list[ColumnMetadata]:
        return [field for field in self.fields if field.type in kinds]

    def _flags(self, value: ByteReader, fields: list[ColumnMetadata], key: str) -> None:
        bits = value.take((len(fields) + 7) // 8)
        for index, field in enumerate(fields):
            setattr(field, key, bool(bits[index >> 3] & 0x80 >> (index & 7)))

    def _signedness(self, value: ByteReader) -> None:
        self._flags(value, self._of(_NUMERIC), "unsigned")

    def _visibility(self, value: ByteReader) -> None:
        self._flags(value, self.fields, "visible")

    def _names(self, value: ByteReader) -> None:
        for field in self.fields:
            field.name = value.name(value.packed())
        self.named = True

    def _each(self, value: ByteReader, kinds: frozenset[int], key: str) -> None:
        for field, number in zip(self._of(kinds), value.numbers(), strict=False):
            setattr(field, key, number)

    def _default_collation(self, value: ByteReader, kinds: frozenset[int]) -> None:
        """The default, then pairs (which of the columns concerned, its collation) for those that differ."""
        fields = self._of(kinds)
        default = value.packed()
        for field in fields:
            field.collation = default
        numbers = value.numbers()
        for index, collation in zip(numbers, numbers, strict=False):
            self._at(fields, index).collation = collation

    def _members(self, value: ByteReader, kind: int) -> None:
        for field in self._of(frozenset({kind})):
            field.members = [value.take(value.packed()) for _ in range(value.packed())]

    def _simple_key(self, value: ByteReader) -> None:
        self.primary_key = tuple(self._index(index) for index in value.numbers())

    def _prefixed_key(self, value: ByteReader) -> None:
        numbers = value.numbers()
        self.primary_key = tuple(self._index(index) for index, _ in zip(numbers, numbers, strict=False))

    def _index(self, index: int) -> int:
        return self._at(self.fields, index).index

    @staticmethod
    def _at(fields: list[ColumnMetadata], index: int) -> ColumnMetadata:
        if index >= len(fields):
            raise DecodeError("E2302", "a table map refers to a column that it does not have", found=f"column {index}")
        return fields[index]
