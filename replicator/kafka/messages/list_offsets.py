"""ListOffsets: the first and the last offset of partitions."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Final, NamedTuple

from replicator.kafka import wire
from replicator.kafka.wire import Reader

KEY: Final = 2
VERSIONS: Final = (6, 6)
FIRST: Final = -2
"""The first offset that the partition still has."""
LAST: Final = -1
"""The one behind the last record; behind the last that is decided, where only committed ones are wanted."""

_NO_REPLICA: Final = -1
_ANY_EPOCH: Final = -1


class Offset(NamedTuple):
    """error: a code; offset: -1: none."""

    topic: str
    partition: int
    error: int
    offset: int


def request(places: Iterable[tuple[str, int]], which: int, *, committed: bool) -> bytes:
    """places: topics and partitions that the broker leads. which: FIRST or LAST."""
    topics: dict[str, list[int]] = {}
    for topic, partition in places:
        topics.setdefault(topic, []).append(partition)
    rows = b"".join(
        wire.compact_string(topic)
        + wire.array_length(len(partitions))
        + b"".join(struct.pack(">iiq", each, _ANY_EPOCH, which) + wire.NO_TAGS for each in partitions)
        + wire.NO_TAGS
        for topic, partitions in topics.items()
    )
    return struct.pack(">ib", _NO_REPLICA, committed) + wire.array_length(len(topics)) + rows + wire.NO_TAGS


def reply(reader: Reader) -> list[Offset]:
    """Raises MalformedMessage."""
    reader.int32()  # throttle time
    found = [each for topic in reader.array(lambda: _topic(reader)) for each in topic]
    reader.skip_tags()
    return found


def _topic(reader: Reader) -> list[Offset]:
    name = reader.compact_string() or ""
    found = reader.array(lambda: _partition(reader, name))
    reader.skip_tags()
    return found


def _partition(reader: Reader, topic: str) -> Offset:
    partition, error = reader.int32(), reader.int16()
    reader.int64()  # timestamp
    found = Offset(topic, partition, error, reader.int64())
    reader.int32()  # leader epoch
    reader.skip_tags()
    return found
