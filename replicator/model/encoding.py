"""Binary encodings of records as plans describe them, so that compiled programs can write them without JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

import msgspec


class RecordSchema(Protocol):
    """The schema of a subject.

    Called with JSON as the templates write it, it returns the record's bytes, and registers the schema with the first.

    Attributes:
        connect: Connect's schema (JSON).
    """

    connect: str

    @property
    def head(self) -> bytes:
        """The bytes in front of every record; b"" until the first one has registered the schema."""
        ...

    def __call__(self, text: bytes) -> bytes: ...

    def part(self, schema: Mapping[str, Any]) -> Callable[[bytes], bytes]:
        """Of a schema inside of `connect`: JSON -> the bytes that a record has for it. The function raises an error
        for what is not of the schema."""
        ...


class AvroRecords(msgspec.Struct, frozen=True):
    """`TablePlan.encode` of records in Avro. `key` None: they have none."""

    key: RecordSchema | None
    value: RecordSchema

    def __call__(self, key: bytes | None, value: bytes | None) -> tuple[bytes | None, bytes | None]:
        made = self.key(key) if self.key is not None and key is not None else None
        return made, self.value(value) if value is not None else None


# Canal's protobuf: what the entry of a row event is made of.


class CanalColumn(msgspec.Struct, frozen=True, eq=False):
    """The parts of a column's messages that do not depend on the value. The first of two is of a value that has not
    changed, the second of one that has.

    Attributes:
        heads: in front of the value.
        nulls: the whole message of NULL.
        tag, tail: in front of the value's length, and behind the value.
        limit: a greater number has `wide` instead of `heads`; None: there is none.
        write: (value as its JSON has it, whether it has changed) -> the message.
    """

    heads: tuple[bytes, bytes]
    nulls: tuple[bytes, bytes]
    tag: bytes
    tail: bytes
    limit: int | None
    wide: tuple[bytes, bytes]
    write: Callable[[Any, bool], bytes]


class Variable(msgspec.Struct, frozen=True):
    """A member of the template's JSON as a field of a message.

    Attributes:
        text: it has a length in front, and is no number.
        optional: there is no field when it is null or empty.
        write: its JSON -> the field, tag included.
    """

    name: str
    tag: bytes
    text: bool
    optional: bool
    write: Callable[[bytes], bytes]


class Count(msgspec.Struct, frozen=True):
    """The number of rows in decimal digits, behind their length. known: always so many."""

    known: int | None = None


class Rows(msgspec.Struct, frozen=True):
    """A message for each row."""


class Message(msgspec.Struct, frozen=True):
    """Parts behind a tag and their length. optional: there is no field when they are empty."""

    tag: bytes
    parts: tuple[Part, ...]
    optional: bool = False


Part: TypeAlias = bytes | Variable | Count | Rows | Message


class CanalEntries(msgspec.Struct, frozen=True, eq=False):
    """`TablePlan.encode` of row events in Canal's protobuf.

    Attributes:
        layout: event type -> the parts of a record.
        row, before, after: tags of a row, and of a column in it.
    """

    columns: tuple[CanalColumn, ...]
    layout: Callable[[int], tuple[Part, ...]]
    row: bytes
    before: bytes
    after: bytes
    encode: Callable[[bytes | None, bytes | None], tuple[bytes | None, bytes | None]]

    def __call__(self, key: bytes | None, value: bytes | None) -> tuple[bytes | None, bytes | None]:
        return self.encode(key, value)
