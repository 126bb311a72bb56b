"""AddPartitionsToTxn: tells the coordinator which partitions a transaction writes to (transaction protocol 1)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from replicator.kafka import wire
from replicator.kafka.wire import Reader

KEY: Final = 24
VERSIONS: Final = (3, 3)  # later ones are for brokers

Place = tuple[str, int]


class Added(NamedTuple):
    """errors: a code for each partition."""

    throttle_ms: int
    errors: dict[Place, int]


def request(transactional_id: str, producer_id: int, epoch: int, places: Iterable[Place]) -> bytes:
    topics: dict[str, list[int]] = {}
    for name, number in places:
        topics.setdefault(name, []).append(number)
    body = bytearray(wire.compact_string(transactional_id) + wire.int64(producer_id) + wire.int16(epoch))
    body += wire.array_length(len(topics))
    for name, numbers in topics.items():
        body += wire.compact_string(name) + wire.array_length(len(numbers))
        body += b"".join(map(wire.int32, numbers)) + wire.NO_TAGS
    return bytes(body + wire.NO_TAGS)


def reply(reader: Reader) -> Added:
    throttle = reader.int32()
    errors: dict[Place, int] = {}

    def topic() -> None:
        name = reader.compact_string() or ""

        def partition() -> None:
            number = reader.int32()
            errors[name, number] = reader.int16()
            reader.skip_tags()

        reader.array(partition)
        reader.skip_tags()

    reader.array(topic)
    reader.skip_tags()
    return Added(throttle, errors)
