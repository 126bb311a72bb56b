"""Reads topics completely, as a read_committed consumer would, and stops at their end."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from typing import NamedTuple

from kafka import KafkaConsumer, TopicPartition


class Consumed(NamedTuple):
    """A record as a consumer got it. timestamp: ms since the epoch; headers: in order, as they came."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]

    def header(self, name: str) -> str:
        """The text of the last header of that name. Raises KeyError."""
        return dict(self.headers)[name].decode()


def read_all(
    bootstrap: str,
    topics: str | Iterable[str] | re.Pattern[str],
    isolation: str = "read_committed",
    timeout: float = 30.0,
) -> list[Consumed]:
    """Every record from the beginning to the end as it is now, in (topic, partition, offset) order.

    Args:
        bootstrap: `host:port[,host:port]`.
        topics: one name, several, or a pattern that whole names match. Topics that do not exist have no records.
        isolation: `read_committed` (up to the last stable offset) or `read_uncommitted`.
    """
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap.split(","),
        group_id=None,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level=isolation,
        allow_auto_create_topics=False,
        fetch_max_wait_ms=20,
        max_partition_fetch_bytes=8 << 20,
        max_poll_records=10_000,
    )
    try:
        return sorted(_drain(consumer, _wanted(consumer, topics), time.monotonic() + timeout))
    finally:
        consumer.close(autocommit=False)


def _wanted(consumer: KafkaConsumer, topics: str | Iterable[str] | re.Pattern[str]) -> list[TopicPartition]:
    there = consumer.topics()
    if isinstance(topics, re.Pattern):
        names = [name for name in there if topics.fullmatch(name)]
    else:
        names = [name for name in ([topics] if isinstance(topics, str) else topics) if name in there]
    return [TopicPartition(name, number) for name in names for number in consumer.partitions_for_topic(name) or ()]


def _drain(consumer: KafkaConsumer, partitions: list[TopicPartition], deadline: float) -> list[Consumed]:
    if not partitions:
        return []
    consumer.assign(partitions)
    consumer.seek_to_beginning(*partitions)
    ends = consumer.end_offsets(partitions)
    found: list[Consumed] = []
    left = {partition for partition, end in ends.items() if end > 0}
    while left:
        if time.monotonic() > deadline:
            raise TimeoutError(f"not read to the end: {sorted(left)}")
        for partition, records in consumer.poll(timeout_ms=100).items():
            found += [
                Consumed(
                    r.topic, r.partition, r.offset, r.timestamp, r.key, r.value, tuple((k, v) for k, v in r.headers)
                )
                for r in records
                if r.offset < ends[partition]
            ]
        left = {partition for partition in left if consumer.position(partition) < ends[partition]}
    return found
