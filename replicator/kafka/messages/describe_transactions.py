"""DescribeTransactions: the state of the last transaction of a transactional id (KIP-664, brokers from 3.0 on)."""

from __future__ import annotations

from typing import Final, NamedTuple

from replicator.kafka import wire
from replicator.kafka.wire import MalformedMessage, Reader

KEY: Final = 65
VERSIONS: Final = (0, 0)


class Transaction(NamedTuple):
    """state: as Kafka writes it: Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort, Dead,
    PrepareEpochFence. places: topics and partitions in it."""

    error: int
    state: str
    places: list[tuple[str, int]]


def request(transactional_id: str) -> bytes:
    return wire.array_length(1) + wire.compact_string(transactional_id) + wire.NO_TAGS


def reply(reader: Reader) -> Transaction:
    """Raises MalformedMessage."""
    reader.int32()  # throttle time
    found = reader.array(lambda: _transaction(reader))
    reader.skip_tags()
    if len(found) != 1:
        raise MalformedMessage(f"{len(found)} transactions instead of one")
    return found[0]


def _transaction(reader: Reader) -> Transaction:
    error = reader.int16()
    reader.compact_string()  # transactional id
    state = reader.compact_string() or ""
    reader.int32()  # time-out
    reader.int64()  # begun at
    reader.int64()  # producer id
    reader.int16()  # producer epoch
    places = [each for topic in reader.array(lambda: _topic(reader)) for each in topic]
    reader.skip_tags()
    return Transaction(error, state, places)


def _topic(reader: Reader) -> list[tuple[str, int]]:
    name = reader.compact_string() or ""
    numbers = reader.array(reader.int32)
    reader.skip_tags()
    return [(name, number) for number in numbers]
