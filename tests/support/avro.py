"""A consumer of Confluent's wire format: schemas by id from a registry, and what JSON's converter makes of the data."""

from __future__ import annotations

import json
import struct
from base64 import b64encode
from io import BytesIO
from typing import Any

import fastavro

from replicator.config.avro import SchemaRegistry
from replicator.encode.avro.registry import Registry


class Reader:
    """`logical` False: values as they are encoded, days and unscaled bytes."""

    def __init__(self, url: str, *, logical: bool = False) -> None:
        self.registry = Registry(SchemaRegistry(url=url))
        self._logical = logical
        self._schemas: dict[int, Any] = {}

    def read(self, data: bytes) -> Any:
        zero, number = struct.unpack_from(">bI", data)
        assert zero == 0
        rest = BytesIO(data[5:])
        value = fastavro.schemaless_reader(rest, self.parsed(number), None)
        assert not rest.read(), "bytes are left"
        return value

    def parsed(self, number: int) -> Any:
        if number not in self._schemas:
            schema = json.loads(self.registry.schema(number))
            self._schemas[number] = fastavro.parse_schema(schema if self._logical else _bare(schema))
        return self._schemas[number]


def _bare(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_bare(each) for each in schema]
    if isinstance(schema, dict):
        return {key: _bare(value) for key, value in schema.items() if key != "logicalType"}
    return schema


def plain(value: Any) -> Any:
    """Avro's data as JSON's converter writes them."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return b64encode(value).decode() if isinstance(value, bytes) else value
