"""Metadata: the brokers of a cluster, and the leader of each partition of some topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from replicator.kafka import wire
from replicator.kafka.wire import Reader

KEY: Final = 3
VERSIONS: Final = (9, 13)
_TOPIC_IDS: Final = 10  # first version with them
_AUTHORIZED_OPERATIONS: Final = 8, 10  # of the cluster, in these versions alone
_TOP_ERROR: Final = 13
_NO_ID: Final = bytes(16)


class Broker(NamedTuple):
    node: int
    host: str
    port: int


class Partition(NamedTuple):
    """error: a code; leader: its node, -1: none."""

    number: int
    error: int
    leader: int
    leader_epoch: int


class Topic(NamedTuple):
    """id: 16 bytes; zeros where the broker does not tell."""

    name: str
    error: int
    id: bytes
    partitions: list[Partition]


class Metadata(NamedTuple):
    """error: of the whole reply (REBOOTSTRAP_REQUIRED); controller: its node, -1: unknown; cluster: its id, "" where
    the broker does not say."""

    throttle_ms: int
    brokers: list[Broker]
    topics: list[Topic]
    error: int = 0
    controller: int = -1
    cluster: str = ""


def request(topics: Sequence[str] | None, version: int) -> bytes:
    """Asks for some topics, which the broker does not create; None: for all."""
    id_ = _NO_ID if version >= _TOPIC_IDS else b""
    named = b"".join(id_ + wire.compact_string(name) + wire.NO_TAGS for name in topics or ())
    cluster = b"\0" if version <= _AUTHORIZED_OPERATIONS[1] else b""
    count = wire.NULL if topics is None else wire.array_length(len(topics))
    return count + named + b"\0" + cluster + b"\0" + wire.NO_TAGS


def reply(reader: Reader, version: int) -> Metadata:
    throttle = reader.int32()
    brokers = reader.array(lambda: _broker(reader))
    cluster = reader.compact_string() or ""
    controller = reader.int32()
    topics = reader.array(lambda: _topic(reader, version))
    if version <= _AUTHORIZED_OPERATIONS[1]:
        reader.int32()
    error = reader.int16() if version >= _TOP_ERROR else 0
    reader.skip_tags()
    return Metadata(throttle, brokers, topics, error, controller, cluster)


def _broker(reader: Reader) -> Broker:
    found = Broker(reader.int32(), reader.compact_string() or "", reader.int32())
    reader.compact_string()  # rack
    reader.skip_tags()
    return found


def _topic(reader: Reader, version: int) -> Topic:
    error = reader.int16()
    name = reader.compact_string() or ""
    id_ = reader.uuid() if version >= _TOPIC_IDS else _NO_ID
    reader.boolean()  # internal
    partitions = reader.array(lambda: _partition(reader))
    reader.int32()  # authorized operations
    reader.skip_tags()
    return Topic(name, error, id_, partitions)


def _partition(reader: Reader) -> Partition:
    error, number, leader, epoch = reader.int16(), reader.int32(), reader.int32(), reader.int32()
    for _ in range(3):  # replicas, in sync, offline
        reader.array(reader.int32)
    reader.skip_tags()
    return Partition(number, error, leader, epoch)
