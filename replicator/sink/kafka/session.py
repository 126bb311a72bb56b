"""A session of the Kafka sink, for both delivery modes: one producer under one term, records sorted into partitions."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterable
from functools import partial

from replicator import compiled
from replicator.config.task import KafkaSink
from replicator.errors import SinkUnavailable
from replicator.model.batch import Record
from replicator.model.packed_records import PackedRecords
from replicator.model.partitioner import murmur2, partition_of
from replicator.model.term import Term
from replicator.sink.kafka.batch_producer import BatchProducer
from replicator.sink.kafka.compression import CODECS
from replicator.sink.kafka.connect import connect_plain, connect_producer
from replicator.sink.kafka.dead_letters import DeadLetters
from replicator.sink.kafka.hanging_transactions import HangingTransactions
from replicator.sink.kafka.partition_counts import dump
from replicator.sink.kafka.producer_port import ProducerPort
from replicator.sink.kafka.record_producer import RecordProducer
from replicator.sink.kafka.records import Stamp
from replicator.sink.kafka.topic import Topic
from replicator.sink.kafka.topics import Topics
from replicator.sink.kafka.window import Window

log = logging.getLogger(__name__)

_STALLED_SECONDS = 2.0
_CLOSE_SECONDS = 2.0


class Session:
    """From one `open` of a sink to the next: a failed producer is never used again.

    Args:
        transactional_id: None for at_least_once.
        letters: what takes the place of records that are too large; None: such a one is an error.
        batches: False sends record by record with kafka-python's own producer, for comparison.
    """

    def __init__(
        self,
        config: KafkaSink,
        topics: Topics,
        term: Term,
        transactional_id: str | None,
        *,
        letters: DeadLetters | None = None,
        batches: bool = True,
    ) -> None:
        self.term = term
        self._topics = topics
        self._letters = letters
        self._known: dict[str, Topic] = {}
        self._next_look = 0.0
        self._stamp = Stamp(term.task, term.epoch)
        self.producer = self._connect(config, transactional_id, batches=batches)

    def _connect(self, config: KafkaSink, transactional_id: str | None, *, batches: bool) -> ProducerPort:
        seconds = self._seconds = max(1.0, config.delivery_timeout_ms / 1000)
        guard = self.term.check
        ours = connect_producer(config, transactional_id, guard)
        drive = ours.wait if batches else None
        window = self.window = Window(config.max_in_flight_bytes, seconds, self._waiting, drive)
        if batches:
            return BatchProducer(ours, self._stamp, window, guard, seconds, CODECS[config.compression])
        if transactional_id is None:
            ours.close(_CLOSE_SECONDS)
        log.warning("records are sent one by one and uncompressed, which is many times slower")
        try:
            make = partial(connect_plain, config, transactional_id)
            return RecordProducer(make, ours, self._stamp, window, guard, seconds)
        except BaseException:
            ours.close(_CLOSE_SECONDS)
            raise

    def init_transactions(self, hanging: HangingTransactions) -> None:
        """Fences every earlier producer of our transactional id out; its open transaction is aborted, and one without
        an end is ended."""
        self.producer.init_transactions(hanging)

    def begin(self, position: Topic, hanging: HangingTransactions) -> None:
        """Begins a transaction. Raises SinkUnavailable also where the last one was left without an end."""
        self.producer.begin(position, hanging)

    def know(self, topic: Topic) -> Topic:
        """Makes the producer know a topic."""
        self.producer.know(topic)
        return topic

    def write(self, records: Iterable[Record], *, more: bool = False) -> None:
        """Sorts records by partition, in order, and hands them over at once. more: little ones may wait for what comes
        next in their transaction."""
        self.term.check()
        if not (isinstance(records, PackedRecords) and self._write_packed(records)):
            if self._letters is not None:
                records = self._letters.instead(records, self._stamp, self._topic)
            for topic, lanes in self._sort(records).values():
                for partition, lane in enumerate(lanes):
                    if lane:
                        self.producer.send(topic, partition, lane)
        self.producer.push(more=more)
        del records
        self.window.drain_large(self._seconds)

    def _write_packed(self, records: PackedRecords) -> bool:
        """Without an object per record. False, and nothing done, where that is not possible."""
        if not isinstance(self.producer, BatchProducer) or not compiled.available():
            return False
        batches = compiled.module("kafka").Batches(self._stamp.prefix)
        topics = [self._topic(name) for name in batches.names(records.blocks)]
        limits = [
            (topic.partitions, partition_of(topic.name, None, topic.partitions), topic.batch_bytes, topic.record_bytes)
            for topic in topics
        ]
        made = batches.encode(records.blocks, limits)
        if made is None:  # a record is too large: the other way finds and names it
            return False
        for number, partition, body in made:
            self.producer.send_body(topics[number], partition, body)
        return True

    def _sort(self, records: Iterable[Record]) -> dict[str, tuple[Topic, list[list[Record]]]]:
        sorted_: dict[str, tuple[Topic, list[list[Record]]]] = {}
        last: str | None = None
        lanes: list[list[Record]] = []
        keyless: list[Record] = []
        for record in records:
            name, key = record[0], record[1]
            if name != last:
                if name not in sorted_:
                    topic = self._topic(name)
                    sorted_[name] = topic, [[] for _ in range(topic.partitions)]
                last, lanes = name, sorted_[name][1]
                keyless = lanes[partition_of(name, None, len(lanes))]
            if len(record) == 7:
                key = record[6]
            if key is None or len(lanes) == 1:
                keyless.append(record)
            else:
                lanes[(murmur2(key) & 0x7FFFFFFF) % len(lanes)].append(record)
        return sorted_

    def _topic(self, name: str) -> Topic:
        topic = self._known.get(name)
        if topic is None:
            topic = self._known[name] = self.know(self._topics.get(name))
            if not topic.recorded:
                self._record(topic)
        return topic

    def _record(self, topic: Topic) -> None:
        """The number of its partitions, before its first record. Again in the next session: whether this one's came
        through is not asked."""
        counts = self._topics.counts()
        if counts is not None:
            self.know(counts)
            self.producer.send_plain(counts, topic.name.encode(), dump(topic.name, topic.partitions))

    def _waiting(self, age: float) -> None:
        """While something is in flight and nothing comes back."""
        self.term.check()
        now = time.monotonic()
        if age > _STALLED_SECONDS and now >= self._next_look:
            self._next_look = now + _STALLED_SECONDS
            with contextlib.suppress(SinkUnavailable):  # the broker is away: go on waiting, up to the delivery timeout
                self._topics.verify(self._known)

    def close(self) -> None:
        self.producer.close(_CLOSE_SECONDS)
