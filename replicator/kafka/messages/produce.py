"""Produce: record batches for partitions that one broker leads. The batches' bytes are not copied."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from replicator.kafka import wire
from replicator.kafka.wire import Reader

KEY: Final = 0
VERSIONS: Final = (9, 12)
SECOND_PROTOCOL: Final = 12
"""First version in which the partition's leader adds it to the transaction (transaction protocol 2)."""

_ALL_REPLICAS: Final = wire.int16(-1)
_TAIL: Final = wire.NO_TAGS * 3  # of the partition, the topic, the request

Place = tuple[str, int]
Bytes = bytes | bytearray | memoryview


class Written(NamedTuple):
    """The result of a partition's batch. message: the broker's words, often ""."""

    error: int
    offset: int
    message: str


class Produced(NamedTuple):
    throttle_ms: int
    written: dict[Place, Written]


def request(
    transactional_id: str | None, timeout_ms: int, batches: Iterable[tuple[Place, Sequence[memoryview]]]
) -> list[Bytes]:
    """One batch of each partition, itself in pieces; the pieces of the request, in order.

    Args:
        timeout_ms: for which the leader waits for the other replicas.
    """
    topics: dict[str, list[tuple[int, Sequence[memoryview]]]] = {}
    for (name, number), data in batches:
        topics.setdefault(name, []).append((number, data))
    head = bytearray(wire.compact_string(transactional_id) + _ALL_REPLICAS + wire.int32(timeout_ms))
    head += wire.array_length(len(topics))
    pieces: list[Bytes] = []
    for index, (name, parts) in enumerate(topics.items()):
        if index:
            head += wire.NO_TAGS  # end of the topic before
        head += wire.compact_string(name) + wire.array_length(len(parts))
        for number, data in parts:
            head += wire.int32(number) + wire.uvarint(sum(map(len, data)) + 1)
            pieces += [head, *data]
            head = bytearray(wire.NO_TAGS)
    pieces.append(_TAIL)
    return pieces


def reply(reader: Reader) -> Produced:
    written: dict[Place, Written] = {}

    def topic() -> None:
        name = reader.compact_string() or ""

        def partition() -> None:
            number, error, offset = reader.int32(), reader.int16(), reader.int64()
            reader.int64()  # append time
            reader.int64()  # start of the log
            words = [text for text in reader.array(record_error) if text]
            message = reader.compact_string() or (words[0] if words else "")
            reader.skip_tags()  # the current leader, from version 10 on: the next Metadata tells it
            written[name, number] = Written(error, offset, message)

        reader.array(partition)
        reader.skip_tags()

    def record_error() -> str | None:
        reader.int32()
        text = reader.compact_string()
        reader.skip_tags()
        return text

    reader.array(topic)
    throttle = reader.int32()
    reader.skip_tags()
    return Produced(throttle, written)
