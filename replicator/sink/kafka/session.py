"""What both deliveries share: one producer under one term, records sorted into partitions and handed over."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterable

from replicator import compiled
from replicator.config.task import KafkaSink
from replicator.errors import SinkUnavailable
from replicator.model.batch import Record
from replicator.model.packed import PackedRecords
from replicator.model.term import Term
from replicator.sink.kafka.bulk import BulkFeed
from replicator.sink.kafka.compression import CODECS
from replicator.sink.kafka.counts import dump
from replicator.sink.kafka.dead_letters import DeadLetters
from replicator.sink.kafka.errors import translating
from replicator.sink.kafka.feed import Feed
from replicator.sink.kafka.fit import unfit
from replicator.sink.kafka.hanging import Hanging
from replicator.sink.kafka.partitioner import murmur2, partition_of
from replicator.sink.kafka.plain import PlainFeed
from replicator.sink.kafka.producer import connect_producer
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
        bulk: False takes the slow feed even where the fast one fits.
    """

    def __init__(
        self,
        config: KafkaSink,
        topics: Topics,
        term: Term,
        transactional_id: str | None,
        *,
        letters: DeadLetters | None = None,
        bulk: bool = True,
    ) -> None:
        self.term = term
        self._topics = topics
        self._letters = letters
        self._known: dict[str, Topic] = {}
        self._next_look = 0.0
        self.window = Window(config.max_in_flight_bytes, max(1.0, config.delivery_timeout_ms / 1000), self._waiting)
        self._producer = connect_producer(config, transactional_id)
        self.feed = self._make_feed(bulk, config.compression)

    def _make_feed(self, bulk: bool, compression: str) -> Feed:
        stamp = self._stamp = Stamp(self.term.task, self.term.epoch)
        reason = unfit(self._producer) if bulk else "switched off"
        if not reason:
            return BulkFeed(self._producer, stamp, self.window, self.term.check, CODECS[compression])
        how = "one by one, which is many times slower" + (", and uncompressed" if compression != "none" else "")
        log.warning("records are sent %s: %s", how, reason)
        return PlainFeed(self._producer, stamp, self.window, self.term.check)

    def init_transactions(self, hanging: Hanging) -> None:
        """Fences every earlier producer of our transactional id out; its open transaction is aborted, and one without
        an end is ended."""
        with translating("the transactional producer could not be set up"):
            self._producer.init_transactions()
        hanging.settle(self._producer)

    def begin(self, position: Topic, hanging: Hanging) -> None:
        """Begins a transaction. Raises SinkUnavailable also where the last one was left without an end."""
        client = self._producer._sender._client
        if client.coordinator_lost():
            hanging.refuse()
            client.take_another()
        self.feed.begin(position)

    def know(self, topic: Topic) -> Topic:
        """Makes the producer know a topic: a batch for an unknown one would wait for the next refresh."""
        with translating(f"the partitions of '{topic.name}' could not be read"):
            self._producer.partitions_for(topic.name)
        return topic

    def write(self, records: Iterable[Record]) -> None:
        """Sorts records by partition, in order, and hands them over at once: no lingering."""
        self.term.check()
        if not (isinstance(records, PackedRecords) and self._write_packed(records)):
            if self._letters is not None:
                records = self._letters.instead(records, self._stamp, self._topic)
            for topic, lanes in self._sort(records).values():
                for partition, lane in enumerate(lanes):
                    if lane:
                        self.feed.send(topic, partition, lane)
        self.feed.pushed()

    def _write_packed(self, records: PackedRecords) -> bool:
        """Without an object per record. False, and nothing done, where that is not possible."""
        if not isinstance(self.feed, BulkFeed) or not compiled.available():
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
            self.feed.send_body(topics[number], partition, body)
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
            self.feed.send_plain(counts, topic.name.encode(), dump(topic.name, topic.partitions))

    def _waiting(self, age: float) -> None:
        """While something is in flight and nothing comes back."""
        self.term.check()
        now = time.monotonic()
        if age > _STALLED_SECONDS and now >= self._next_look:
            self._next_look = now + _STALLED_SECONDS
            with contextlib.suppress(SinkUnavailable):  # the broker is away: go on waiting, up to the delivery timeout
                self._topics.verify(self._known)

    def close(self) -> None:
        self.feed.close(_CLOSE_SECONDS)
