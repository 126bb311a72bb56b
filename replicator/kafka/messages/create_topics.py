"""CreateTopics, of one topic."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final, NamedTuple

from replicator.kafka import wire
from replicator.kafka.wire import MalformedMessage, Reader

KEY: Final = 19
VERSIONS: Final = (5, 7)
_TOPIC_IDS: Final = 7  # first version with them


class Created(NamedTuple):
    error: int
    message: str


def request(name: str, partitions: int, replicas: int, settings: Mapping[str, str], timeout_ms: int) -> bytes:
    """replicas: -1: the broker's default."""
    rows = b"".join(
        wire.compact_string(key) + wire.compact_string(value) + wire.NO_TAGS for key, value in settings.items()
    )
    topic = wire.compact_string(name) + struct.pack(">ih", partitions, replicas) + wire.array_length(0)
    topic += wire.array_length(len(settings)) + rows + wire.NO_TAGS
    return wire.array_length(1) + topic + struct.pack(">i?", timeout_ms, False) + wire.NO_TAGS


def reply(reader: Reader, version: int) -> Created:
    """Raises MalformedMessage."""
    reader.int32()  # throttle time
    found = reader.array(lambda: _created(reader, version))
    if len(found) != 1:
        raise MalformedMessage(f"{len(found)} topics instead of one")
    reader.skip_tags()
    return found[0]


def _created(reader: Reader, version: int) -> Created:
    reader.compact_string()  # its name
    if version >= _TOPIC_IDS:
        reader.uuid()
    found = Created(reader.int16(), reader.compact_string() or "")
    reader.int32()  # partitions
    reader.int16()  # replicas
    reader.array(lambda: _setting(reader))
    reader.skip_tags()
    return found


def _setting(reader: Reader) -> None:
    reader.compact_string()  # name
    reader.compact_string()  # value
    reader.boolean()  # read-only
    reader.int8()  # source
    reader.boolean()  # sensitive
    reader.skip_tags()
