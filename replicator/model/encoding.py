"""Binary encodings of records as plans describe them, so that compiled programs can write them without JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

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
