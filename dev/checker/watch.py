"""Consumers that read during a run, whatever its length and the faults of the brokers."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Self

from kafka import KafkaConsumer, TopicPartition
from kafka.consumer.fetcher import ConsumerRecord
from kafka.errors import KafkaError

from dev.checker.consumer import open_consumer


class Watch:
    """Passes on each visible record of a topic once, in the order of its partition.

    Args:
        see: called with records (kafka-python's ConsumerRecord) in a thread of the watch's own.
        from_now: leave out what is there when it starts.
    """

    def __init__(
        self, bootstrap: str, topic: str, see: Callable[[list[ConsumerRecord]], None], *, from_now: bool = False
    ) -> None:
        self._bootstrap, self._topic, self._see, self._from_now = bootstrap, topic, see, from_now
        self._ready = threading.Event()
        self._next: dict[TopicPartition, int] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"watch-{topic}", daemon=True)
        self.error: BaseException | None = None

    def start(self) -> None:
        self._thread.start()

    def __enter__(self) -> Self:
        """It has begun when this returns, or the topic is not there yet."""
        self.start()
        self._ready.wait(30)
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Raises what `see` has raised."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(30)
        if self.error is not None:
            raise self.error

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._follow()
            except (KafkaError, OSError):
                time.sleep(0.5)  # the broker is away: go on where we were
            except BaseException as error:
                self.error = error
                return

    def _follow(self) -> None:
        consumer = open_consumer(self._bootstrap)
        try:
            places = self._places(consumer)
            consumer.assign(places)
            if self._from_now:
                self._next = consumer.end_offsets(places)
                self._from_now = False
            for place in places:
                consumer.seek(place, self._next.get(place, 0))
            self._ready.set()
            while not self._stop.is_set():
                for place, records in consumer.poll(timeout_ms=200).items():
                    self._see(records)
                    self._next[place] = records[-1].offset + 1
        finally:
            with contextlib.suppress(KafkaError, OSError):
                consumer.close(autocommit=False)

    def _places(self, consumer: KafkaConsumer) -> list[TopicPartition]:
        """Of the topic, once it is there."""
        while not self._stop.is_set():
            if self._topic in consumer.topics():
                numbers = consumer.partitions_for_topic(self._topic) or ()
                return [TopicPartition(self._topic, number) for number in numbers]
            self._from_now = False
            self._ready.set()
            time.sleep(0.1)
        return []
