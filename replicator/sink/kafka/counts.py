"""How many partitions each topic had when the task first wrote to it, kept in Kafka beside the position.

A key's changes stay in order because they all go to one partition, and which one depends on the number of partitions.
Somebody who adds some, or makes a topic again, moves keys: that is noticed by the recorded number, also by a later term
on another machine. One record a topic, in a compacted topic of the task; with exactly_once it is part of the
transaction of the first rows.
"""

from __future__ import annotations

import time
from typing import Final

import msgspec
from kafka import KafkaConsumer
from kafka.structs import TopicPartition

from replicator.config.task import KafkaSink
from replicator.errors import SinkError, SinkUnavailable
from replicator.sink.kafka.errors import translating
from replicator.sink.kafka.producer import connect_consumer

VERSION: Final = 1
_READ_SECONDS: Final = 20.0


class CountRecord(msgspec.Struct, kw_only=True):
    """v: version of this form; topic: its name; partitions: how many; time_ms: wall clock of the writer."""

    v: int = VERSION
    topic: str
    partitions: int
    time_ms: int = 0


def dump(topic: str, partitions: int) -> bytes:
    return msgspec.json.encode(CountRecord(topic=topic, partitions=partitions, time_ms=time.time_ns() // 1_000_000))


def read_counts(config: KafkaSink, topic: str) -> dict[str, int]:
    """Partitions by topic, from the whole of a counts topic, which has to exist.

    Raises:
        SinkUnavailable: not read in time.
        SinkError: E3108.
    """
    with translating(f"the partition counts in '{topic}' could not be read"):
        consumer = connect_consumer(config)
        try:
            return _read(consumer, TopicPartition(topic, 0), time.monotonic() + _READ_SECONDS)
        finally:
            consumer.close(timeout_ms=1000)


def _read(consumer: KafkaConsumer, partition: TopicPartition, deadline: float) -> dict[str, int]:
    consumer.assign([partition])
    consumer.seek_to_beginning(partition)
    end: int = consumer.end_offsets([partition], timeout_ms=10_000)[partition]
    found: dict[str, int] = {}
    while consumer.position(partition, timeout_ms=1000) < end:
        if time.monotonic() > deadline:
            raise SinkUnavailable("E3002", f"the partition counts in '{partition.topic}' could not be read in time")
        for record in consumer.poll(timeout_ms=200).get(partition, ()):
            name = (record.key or b"").decode("utf-8", "replace")
            if record.value is None:
                found.pop(name, None)
            else:
                found[name] = _load(record.value, partition.topic)
    return found


def _load(data: bytes, topic: str) -> int:
    try:
        record = msgspec.json.decode(data, type=CountRecord)
        if record.v <= VERSION and record.partitions > 0:
            return record.partitions
        problem = f"version {record.v}, {record.partitions} partitions"
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        problem = str(error)
    raise SinkError("E3108", f"a record of '{topic}' can't be read", found=problem, wanted=f"version {VERSION}")


def changed(topic: str, recorded: int, found: int) -> SinkError:
    """E3106."""
    return SinkError(
        "E3106",
        f"the topic '{topic}' has another number of partitions than when the task first wrote to it",
        found=f"{found}",
        wanted=f"{recorded}",
        fix="Set `sink.partitions_changed`: accept takes the new number, from which on a key's changes may stand in "
        f"another partition than those before; keep goes on with the first {recorded}. Or make the topic as it was.",
    )
