"""An open stream of records: committed ones, in the order of each partition."""

from __future__ import annotations

import threading
import time
from typing import Final, Literal

from kafka import TopicPartition
from kafka.errors import OffsetOutOfRangeError

from replicator.config.kafka_source import KafkaSource
from replicator.errors import ReplicatorError, SourceError, SourceUnavailable
from replicator.kafka.admin_client import SECONDS, AdminClient
from replicator.kafka.messages import list_offsets
from replicator.model import topic_frames
from replicator.model.partitioner import partition_of
from replicator.model.position import Position
from replicator.model.topic_offsets import TopicOffsets
from replicator.source.kafka import topics
from replicator.source.kafka.client import translating

_LOOK_SECONDS: Final = 5.0
"""Between two looks for new topics and partitions, and for topics that were created again."""
_POLL_SECONDS: Final = 0.01
_MOST: Final = 1 << 20
_PIECE: Final = 128 << 10
"""Of a read: some milliseconds of decoding, after which the task may be told to end."""


class TopicStream:
    """`ports.Stream`; its bytes are frames of `model/topic_frames.py`.

    Args:
        begins: where each topic is read from.
    """

    framing: Literal["packet", "file"] = "file"

    def __init__(
        self, client: AdminClient, config: KafkaSource, position: Position, begins: dict[str, TopicOffsets]
    ) -> None:
        self.position = position
        self._client = client
        self._config = config
        self._by_key = not config.one_partition_per_table
        self._ids: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self._next: dict[TopicPartition, int] = {}
        self._ends: dict[TopicPartition, int] = {}
        self._waiting: list[TopicPartition] = []
        self._out = bytearray()
        self._closed = threading.Event()
        self._reading = threading.Lock()
        self._look_at = time.monotonic() + _LOOK_SECONDS
        for one in begins.values():
            self._begin(one)

    def read(self, timeout: float) -> bytes:
        deadline = time.monotonic() + timeout
        with self._reading:
            try:
                while not self._out and not self._closed.is_set():
                    self._look()
                    if not self._fetch() and not self._rest(deadline):
                        return b""
                if self._closed.is_set():
                    raise SourceUnavailable("E2341", "the stream ended", found="this process closed it")
                data = bytes(self._out[:_PIECE])
                del self._out[:_PIECE]
                return data
            finally:
                if self._closed.is_set():
                    self._client.close()

    def server_error(self, errno: int, sqlstate: str, message: str) -> ReplicatorError:
        return SourceError("E2347", "a record can't be read", found=f"error {errno}: {message}")

    def close(self) -> None:
        self._closed.set()
        if self._reading.acquire(blocking=False):
            try:
                self._client.close()
            finally:
                self._reading.release()

    def _begin(self, one: TopicOffsets) -> None:
        self._ids[one.topic], self._counts[one.topic] = one.id, len(one.next)
        for number, offset in enumerate(one.next):
            self._next[TopicPartition(one.topic, number)] = offset
            self._out += topic_frames.place(one.topic, number, offset, one.id)

    def _rest(self, deadline: float) -> bool:
        """Whether there is time left."""
        left = deadline - time.monotonic()
        if left > 0:
            self._closed.wait(min(left, _POLL_SECONDS))
        return left > 0

    def _look(self) -> None:
        if time.monotonic() < self._look_at:
            return
        found = topics.chosen(self._client, self._config)
        for name, topic in found.items():
            id_ = topic.id.hex() if any(topic.id) else ""
            if self._ids.get(name) and id_ and self._ids[name] != id_:
                raise topics.created_again(name, self._ids[name], id_)
            if name in self._ids:
                topics.check_count(name, self._counts[name], len(topic.partitions))
        added = {name: topic for name, topic in found.items() if name not in self._ids}
        if added:
            topics.check_not_compacted(self._client, added)
            first = topics.ends(self._client, added.values(), list_offsets.FIRST, committed=False)
            for one in topics.position_of(added, first).topics:
                self._begin(one)
        self._look_at = time.monotonic() + _LOOK_SECONDS

    def _fetch(self) -> bool:
        """Reads of one partition after the other. False: there is nothing new in any of them."""
        if not self._waiting:
            deadline = time.monotonic() + SECONDS
            with translating("the ends of the source's topics can't be read"):
                self._ends = self._client.offsets(list(self._next), list_offsets.LAST, deadline)
            self._waiting = [place for place, offset in self._next.items() if offset < self._ends[place]]
        while self._waiting and len(self._out) < _MOST:
            place = self._waiting.pop(0)
            self._read_of(place)
            if self._next[place] < self._ends[place]:
                self._waiting.append(place)
        return bool(self._out)

    def _read_of(self, place: TopicPartition) -> None:
        topic, partition = place
        start = self._next[place]
        where = f"partition {partition} of topic '{topic}' can't be read at offset {start}"
        with translating(where):
            try:
                records, following = self._client.fetch(place, start, time.monotonic() + SECONDS)
            except OffsetOutOfRangeError:
                self._check_within(place)
                raise
        for record in records:
            if self._by_key and partition_of(topic, record.key, self._counts[topic]) != partition:
                raise _elsewhere(topic, partition, record.offset)
            self._out += topic_frames.record(topic, partition, record.offset, record.key, record.value)
        if not records or records[-1].offset + 1 != following:
            # Behind what is no record of a row: ends of transactions, records of aborted ones, compacted ones.
            self._out += topic_frames.place(topic, partition, following, self._ids[topic])
        if following > start:
            self._next[place] = following

    def _check_within(self, place: TopicPartition) -> None:
        with translating("the ends of the source's topics can't be read"):
            first, last = self._client.ends(place, time.monotonic() + SECONDS, committed=False)
        topics.check_within(place.topic, place.partition, self._next[place], first, last)


def _elsewhere(topic: str, partition: int, offset: int) -> SourceError:
    return SourceError(
        "E2354",
        f"a record of topic '{topic}' is not in the partition of its key",
        found=f"partition {partition}",
        wanted="records by key, or topics with one partition",
        fix="If all records of each table are in one partition, set source.one_partition_per_table: true.",
        position=f"{topic}:{partition}:{offset}",
    )
