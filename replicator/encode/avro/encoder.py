"""Confluent's wire format: a zero byte, the schema's id (4 bytes, big-endian), Avro's binary encoding."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any, Final

import fastavro
import msgspec

from replicator.encode.avro.registry import Registry
from replicator.encode.avro.schema import avro
from replicator.encode.avro.writer import Writer, part_writer
from replicator.errors import DecodeError

_HEAD: Final = struct.Struct(">bI")


class Encoder:
    """JSON of one Connect schema -> bytes of the subject. A `model.encoding.RecordSchema`.

    The schema is registered with the first value, not before: a table without rows leaves nothing in the registry, and
    plans can be made where there is none.

    Args:
        connect: the Connect schema (JSON).

    Raises:
        DecodeError: E2307, Avro can't have such a schema.
    """

    def __init__(self, registry: Registry, subject: str, connect: str) -> None:
        self._registry = registry
        self._subject = subject
        self.connect = connect
        parsed = msgspec.json.decode(connect)
        schema = avro(parsed)
        self.schema: Final = msgspec.json.encode(schema).decode()
        """The Avro schema, as it is registered."""
        try:
            fastavro.parse_schema(schema)
        except fastavro.schema.SchemaParseException as error:
            raise DecodeError(
                "E2307", f"the schema of {subject} can't be represented in Avro", found=str(error)
            ) from error
        self._write = Writer(parsed)
        self._head = b""

    def __call__(self, text: bytes) -> bytes:
        """Raises what `Registry.id` does, and DecodeError E2307: a value that is not of the schema."""
        try:
            body = self._write(text)
        except (msgspec.MsgspecError, OverflowError, UnicodeEncodeError) as error:
            raise DecodeError(
                "E2307", f"a value does not match the schema of {self._subject}", found=str(error)
            ) from error
        return (self._head or self._register()) + body

    @property
    def head(self) -> bytes:
        return self._head

    def part(self, schema: Mapping[str, Any]) -> Callable[[bytes], bytes]:
        """The function raises what `Writer` does."""
        return part_writer(schema)

    def _register(self) -> bytes:
        self._head = _HEAD.pack(0, self._registry.id(self._subject, self.schema))
        return self._head
