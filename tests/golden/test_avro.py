"""The zoo as Avro, read with the schemas of a real registry, against our own JSON of the same rows."""

from __future__ import annotations

import json
import re
import struct
from typing import Any

import pytest

from dev.servers import Registry
from tests.golden.compare import Record, Variation
from tests.golden.recording import Recordings
from tests.support.avro import Reader, plain

CLOCKS = frozenset({"ts_ms", "ts_us", "ts_ns"})
"""Of the envelope, and of schema changes: the time of decoding."""
OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "everything": {
        "skipped_operations": [],
        "provide_transaction_metadata": True,
        "bigint_unsigned_handling_mode": "precise",
        "replace_null_with_default": False,
        "enable_time_adjuster": False,
        "include_query": True,
    },
    "connect": {"time_precision_mode": "connect", "decimal_handling_mode": "double", "binary_handling_mode": "hex"},
    "text": {"time_precision_mode": "isostring", "decimal_handling_mode": "string", "binary_handling_mode": "base64"},
    "rows": {"unwrap": {"delete_tombstone_handling_mode": "rewrite", "add_fields": ["op", "source.ts_ms", "table"]}},
    "bare rows": {"unwrap": {}, "time_precision_mode": "nanoseconds"},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_every_record_says_what_json_says(recordings: Recordings, registry: Registry, name: str) -> None:
    task, reader, compared = f"avro_{name.replace(' ', '_')}", Reader(registry.url), 0
    json_records = _records(recordings, task, OPTIONS[name])
    avro = {"converter": "avro", "schema_registry": {"url": registry.url}}
    avro_records = _records(recordings, task, OPTIONS[name] | avro)
    assert len(avro_records) == len(json_records)
    for ours, wanted in zip(avro_records, json_records, strict=True):
        assert ours.topic == wanted.topic
        assert _part(reader, ours.key) == _part(None, wanted.key)
        assert _part(reader, ours.value) == _part(None, wanted.value), wanted.topic
        compared += 1
    assert compared > 500


def _records(recordings: Recordings, task: str, options: dict[str, Any]) -> list[Record]:
    return recordings.records(Variation("avro", task, "", "zoo.sql", {"format": "debezium", "debezium": options}))


def _part(reader: Reader | None, data: bytes | None) -> Any:
    if data is None:
        return None
    value = json.loads(data, object_hook=_named) if reader is None else plain(reader.read(data))
    return {name: _rounded(each) for name, each in value.items() if name not in CLOCKS}


def _named(members: dict[str, Any]) -> dict[str, Any]:
    return {re.sub(r"^(?=\d)|[^A-Za-z0-9_]", "_", name): value for name, value in members.items()}


def _rounded(value: Any) -> Any:
    """Numbers as a FLOAT holds them."""
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    if isinstance(value, float) and abs(value) < 3.5e38:
        return struct.unpack(">f", struct.pack(">f", value))[0]
    return value
