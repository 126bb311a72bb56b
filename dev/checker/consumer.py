"""Reads every record of a task's topics, read_committed, in the checker's form."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import msgspec
from kafka import KafkaConsumer, TopicPartition
from kafka.consumer.fetcher import ConsumerRecord
from kafka.errors import KafkaError

from dev.checker.history import Op, Seen
from dev.kafka_sockets import PROXY_URL


class Record(Protocol):
    """A record of a topic (kafka-python's ConsumerRecord), or a line of the file sink."""

    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def timestamp(self) -> int: ...
    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def headers(self) -> Sequence[tuple[str, bytes]]: ...


def read_topics(bootstrap: str, wanted: Callable[[str], bool], timeout: float = 60.0) -> list[ConsumerRecord]:
    """All visible records of the topics that are `wanted`, in order per partition.

    A broker that is gone is no reason to give up: others have copies. Raises TimeoutError when the end that was seen at
    the beginning is not reached in time.
    """
    end = time.monotonic() + timeout
    while True:
        try:
            return _read_once(bootstrap, wanted, end)
        except KafkaError as error:
            if time.monotonic() > end:
                raise TimeoutError(f"{bootstrap} could not be read: {error}") from error
            time.sleep(0.2)


def open_consumer(bootstrap: str, *, wait_ms: int = 50) -> KafkaConsumer:
    """Of what is committed, from the beginning; in no group. wait_ms: for how long the broker keeps an empty fetch."""
    return KafkaConsumer(
        bootstrap_servers=bootstrap,
        proxy_url=PROXY_URL,
        group_id=None,
        enable_auto_commit=False,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        fetch_max_wait_ms=wait_ms,
        max_poll_records=10_000,
        reconnect_backoff_ms=50,
        reconnect_backoff_max_ms=500,  # a broker that is back is found at once, not after half a minute
    )


def _read_once(bootstrap: str, wanted: Callable[[str], bool], end: float) -> list[ConsumerRecord]:
    consumer = open_consumer(bootstrap)
    try:
        return _read(consumer, wanted, end)
    finally:
        consumer.close(autocommit=False)


def _read(consumer: KafkaConsumer, wanted: Callable[[str], bool], end: float) -> list[ConsumerRecord]:
    places = [
        TopicPartition(topic, partition)
        for topic in sorted(topic for topic in consumer.topics() if wanted(topic))
        for partition in sorted(consumer.partitions_for_topic(topic) or ())
    ]
    if not places:
        return []
    consumer.assign(places)
    consumer.seek_to_beginning(*places)
    ends = consumer.end_offsets(places)
    records: list[ConsumerRecord] = []
    while any(consumer.position(place) < ends[place] for place in places):
        if time.monotonic() > end:
            raise TimeoutError(f"the end of {[place.topic for place in places]} was not reached")
        for batch in consumer.poll(timeout_ms=200).values():
            records.extend(batch)
    return records


def seen(records: Iterable[Record]) -> list[Seen]:
    """Change records as the checker wants them; tombstones are left out."""
    return [_seen(record, msgspec.json.decode(record.value)) for record in records if record.value is not None]


def _seen(record: Record, value: dict[str, Any]) -> Seen:
    headers = {name: content.decode() for name, content in record.headers}
    op: Op = value["op"]
    image = value["before"] if op == "d" else value["after"]
    return Seen(
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        key=image["id"],
        counter=image["counter"] + (op == "d"),
        op=op,
        epoch=int(headers["epoch"]),
        position=headers["position"],
        row=int(headers["row"]),
        time_ms=record.timestamp,
    )


def latest_rows(records: Iterable[Record]) -> list[tuple[int, dict[str, object] | None]]:
    """(key, row) per record in the order read; None for deletes. For `verdict.rebuilt`, whose table is then compared
    with `Writer.rows()`."""
    rows: list[tuple[int, dict[str, object] | None]] = []
    for record in records:
        if record.value is None:
            rows.append((json.loads(record.key or b"")["id"], None))
            continue
        after = json.loads(record.value)["after"]
        if after is not None:
            rows.append((after["id"], row_of(after)))
    return rows


def row_of(after: dict[str, Any]) -> dict[str, object]:
    """A debezium row image of `hot_item` in the form of `Writer.rows`: decimals as text, JSON parsed."""
    unscaled = int.from_bytes(base64.b64decode(after["price"]), "big", signed=True)
    sign, digits = ("-" if unscaled < 0 else ""), f"{abs(unscaled):03d}"
    return {
        "sku": after["sku"],
        "stock": after["stock"],
        "price": f"{sign}{digits[:-2]}.{digits[-2:]}",
        "payload": None if after["payload"] is None else json.loads(after["payload"]),
        "note": after["note"],
        "counter": after["counter"],
        "serial": after["serial"],
    }
