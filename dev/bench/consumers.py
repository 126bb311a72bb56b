"""`read_committed` consumers of two libraries, for latency measurements, and the ends of a topic."""

from __future__ import annotations

from typing import Any, Protocol, Self

from kafka import KafkaConsumer, TopicPartition

from dev.bench.ours import PARTITIONS
from dev.checker.consumer import open_consumer as committed
from dev.kafka_sockets import PROXY_URL

_WAIT_MS = 500


class Consumer(Protocol):
    def keys(self, seconds: float) -> list[bytes]:
        """Of the records that have come, after at most that time."""

    def close(self) -> None: ...


class Librdkafka:
    """Most clients outside the JVM stand on it; it takes less than half a millisecond of its own."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        from confluent_kafka import Consumer as Reader
        from confluent_kafka import TopicPartition as Place

        self._reader: Any = Reader(
            {
                "bootstrap.servers": bootstrap,
                "group.id": topic,
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": _WAIT_MS,
            }
        )
        self._reader.assign([Place(topic, number, 0) for number in range(PARTITIONS)])
        self.keys(1.0)

    def keys(self, seconds: float) -> list[bytes]:
        message = self._reader.poll(seconds)
        if message is None:
            return []
        if message.error():
            raise RuntimeError(f"the consumer failed: {message.error()}")
        return [message.key()]

    def close(self) -> None:
        self._reader.close()


class KafkaPython:
    def __init__(self, bootstrap: str, topic: str) -> None:
        self._reader = open_consumer(bootstrap, topic)

    def keys(self, seconds: float) -> list[bytes]:
        polled = self._reader.poll(timeout_ms=seconds * 1000)
        return [record.key or b"" for records in polled.values() for record in records]

    def close(self) -> None:
        self._reader.close(autocommit=False)


class Ends:
    """How many records a topic has: those that mark the ends of transactions included."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._consumer = KafkaConsumer(bootstrap_servers=bootstrap, proxy_url=PROXY_URL, group_id=None)
        self._places = [TopicPartition(topic, number) for number in range(PARTITIONS)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close(autocommit=False)

    def total(self) -> int:
        return sum(self._consumer.end_offsets(self._places).values())


def open_consumer(bootstrap: str, topic: str) -> KafkaConsumer:
    """kafka-python's, from the beginning of the topic; its fetches are under way."""
    consumer = committed(bootstrap, wait_ms=_WAIT_MS)
    places = [TopicPartition(topic, number) for number in range(PARTITIONS)]
    consumer.assign(places)
    consumer.seek_to_beginning(*places)
    for place in places:
        consumer.position(place)
    consumer.poll(timeout_ms=100)
    return consumer
