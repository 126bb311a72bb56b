"""Fetch: record batches of one partition, outside of any fetch session."""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from replicator.kafka import wire
from replicator.kafka.wire import MalformedMessage, Reader

KEY: Final = 1
VERSIONS: Final = (12, 12)
"""Flexible, and topics by their names."""

_WAIT_MS: Final = 50
_NO_SESSION: Final = 0, -1
_UNKNOWN: Final = -1  # replica, epochs, offsets


class Aborted(NamedTuple):
    """A transaction of `producer` whose records from offset `first` on are not committed."""

    producer: int
    first: int


class Fetched(NamedTuple):
    """error: a code; high_watermark: behind the last record on all in-sync replicas."""

    error: int
    high_watermark: int
    aborted: list[Aborted]
    records: bytes


def request(topic: str, partition: int, offset: int, most_bytes: int, *, committed: bool) -> bytes:
    """committed: nothing behind the first transaction that is open; what is aborted is listed."""
    head = struct.pack(">iiiibii", _UNKNOWN, _WAIT_MS, 1, most_bytes, committed, *_NO_SESSION)
    place = struct.pack(">iiqiqi", partition, _UNKNOWN, offset, _UNKNOWN, _UNKNOWN, most_bytes) + wire.NO_TAGS
    one = wire.array_length(1)
    topics = one + wire.compact_string(topic) + one + place + wire.NO_TAGS
    return head + topics + wire.array_length(0) + wire.compact_string("") + wire.NO_TAGS


def reply(reader: Reader) -> Fetched:
    """Raises MalformedMessage, also where the reply is not about one partition."""
    reader.int32()  # throttle time
    error = reader.int16()
    reader.int32()  # session
    found = [each for topic in reader.array(lambda: _topic(reader)) for each in topic]
    reader.skip_tags()
    if error:
        return Fetched(error, -1, [], b"")
    if len(found) != 1:
        raise MalformedMessage(f"{len(found)} partitions instead of one")
    return found[0]


def _topic(reader: Reader) -> list[Fetched]:
    reader.compact_string()  # its name
    found = reader.array(lambda: _partition(reader))
    reader.skip_tags()
    return found


def _partition(reader: Reader) -> Fetched:
    reader.int32()  # its number
    error, high_watermark = reader.int16(), reader.int64()
    reader.int64()  # the last stable offset
    reader.int64()  # the first offset
    aborted = reader.array(lambda: _aborted(reader))
    reader.int32()  # a replica that is nearer
    records = reader.compact_bytes()
    reader.skip_tags()
    return Fetched(error, high_watermark, aborted, records or b"")


def _aborted(reader: Reader) -> Aborted:
    found = Aborted(reader.int64(), reader.int64())
    reader.skip_tags()
    return found
