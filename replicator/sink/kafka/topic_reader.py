"""Reads committed records of topics that a task writes, for `replicator verify`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

import msgspec
from kafka import TopicPartition
from kafka.errors import OffsetOutOfRangeError, for_code

from replicator.config.task import KafkaSink
from replicator.kafka.admin_client import SECONDS, AdminClient
from replicator.kafka.errors import UNKNOWN_TOPIC_OR_PARTITION
from replicator.kafka.messages import list_offsets
from replicator.model.position import Position
from replicator.sink.kafka import position as positions
from replicator.sink.kafka.errors import translate
from replicator.sink.kafka.names import position_topics
from replicator.sink.kafka.topics import Topics

_POLICY: Final = "cleanup.policy"
_DECIDED_SECONDS: Final = 10.0
"""For the ends of transactions that are open in the topics. A consumer does not see what is behind one either."""
_POLL_SECONDS: Final = 0.05


class TopicFacts(msgspec.Struct, frozen=True):
    """`policy`: its cleanup.policy; "": it may not be read. `first`: the first offset of each partition."""

    partitions: int
    policy: str
    first: tuple[int, ...]

    @property
    def compacted(self) -> bool:
        return "compact" in self.policy

    @property
    def deletes(self) -> bool:
        """Retention may delete records that have no later one."""
        return "delete" in self.policy or not self.policy


class TopicRecord(NamedTuple):
    """`place`: number of the partition in `TopicReader.places`."""

    place: int
    offset: int
    key: bytes | None
    value: bytes | None


_Read: TypeAlias = "tuple[list[TopicRecord], int]"


class TopicReader:
    """Connects on first use. Raises SinkUnavailable, SinkError, ConfigError.

    Attributes:
        places: topic and partition of each number.
    """

    def __init__(self, config: KafkaSink, task: str) -> None:
        self._topics, self._task = Topics(config, task), task
        self._next: list[int] = []
        self.places: list[tuple[str, int]] = []

    def facts(self, names: Sequence[str]) -> dict[str, TopicFacts]:
        """Of the topics that exist."""
        if not names:
            return {}
        what = "the topics of the task could not be described"
        found = self._topics.ask(what, lambda admin: admin.describe(list(names)))
        made = {}
        for topic in found:
            if topic.error == UNKNOWN_TOPIC_OR_PARTITION:
                continue
            if topic.error:
                raise translate(for_code(topic.error)(), f"the topic '{topic.name}' could not be described")
            places = [TopicPartition(topic.name, number) for number in range(len(topic.partitions))]
            first = self._ends(places, list_offsets.FIRST)
            made[topic.name] = TopicFacts(len(places), self._policy(topic.name), tuple(first))
        return made

    def begin(self, topics: dict[str, TopicFacts]) -> None:
        """Chooses what `following` reads, from the first offsets on."""
        self.places = [(name, number) for name, facts in topics.items() for number in range(facts.partitions)]
        self._next = [offset for facts in topics.values() for offset in facts.first]

    def following(self) -> Iterator[TopicRecord]:
        """The committed records behind those of the last call, up to the ends that the partitions have now.
        Transactions that are open at this moment are waited for: the position of the task is readable a moment before
        the records that were committed with it."""
        for place, end in enumerate(self._decided()):
            while self._next[place] < end:
                records, following = self._fetch(place, self._next[place])
                yield from (record for record in records if record.offset < end)
                self._next[place] = min(following, end)

    def at(self, places: Sequence[tuple[int, int]]) -> Iterator[TopicRecord]:
        """The records of some places and offsets, which are in order, as far as they exist."""
        wanted = set(places)
        read: tuple[int, int] = (-1, -1)
        for place, offset in places:
            if (place, offset) < read:
                continue
            records, following = self._fetch(place, offset)
            yield from (record for record in records if (place, record.offset) in wanted)
            read = place, max(following, offset + 1)

    def position(self, uid: str) -> Position | None:
        """The last one that was committed together with rows (`delivery: exactly_once`). `uid`: of the task's
        incarnation; "": of the last one."""
        names = self._topics.ask("the topics could not be listed", AdminClient.topics)
        found = [
            record
            for name in position_topics(self._task, names)
            if (record := positions.read_last(self._topics.ask, name, self._task, positions.READ_SECONDS)) is not None
            and uid in ("", record.uid)
        ]
        return max(found, key=lambda record: record.time_ms).position if found else None

    def close(self) -> None:
        self._topics.disconnect()

    def _policy(self, name: str) -> str:
        """ "" where it may not be read."""
        what = f"the settings of '{name}' could not be read"
        return self._topics.ask(what, lambda admin: admin.settings(name, [_POLICY])).get(_POLICY) or ""

    def _decided(self) -> list[int]:
        """Ends of the partitions, if possible once everything that is in them now is committed or aborted."""
        places = [TopicPartition(*place) for place in self.places]
        goal = self._ends(places, list_offsets.LAST, committed=False)
        deadline = time.monotonic() + _DECIDED_SECONDS
        while True:
            ends = self._ends(places, list_offsets.LAST)
            if all(end >= last for end, last in zip(ends, goal, strict=True)) or time.monotonic() > deadline:
                return ends
            time.sleep(_POLL_SECONDS)

    def _ends(self, places: Sequence[TopicPartition], which: int, *, committed: bool = True) -> list[int]:
        deadline = time.monotonic() + SECONDS
        found = self._topics.ask(
            "the ends of the task's topics could not be read",
            lambda admin: admin.offsets(places, which, deadline, committed=committed),
        )
        return [found[place] for place in places]

    def _fetch(self, place: int, start: int) -> _Read:
        """What retention has deleted meanwhile is left out."""
        of = TopicPartition(*self.places[place])

        def question(admin: AdminClient) -> _Read:
            deadline = time.monotonic() + SECONDS
            try:
                records, following = admin.fetch(of, start, deadline)
            except OffsetOutOfRangeError:
                first, _ = admin.ends(of, deadline)
                if first <= start:
                    raise
                return [], first
            return [TopicRecord(place, each.offset, each.key, each.value) for each in records], following

        return self._topics.ask(f"partition {of.partition} of topic '{of.topic}' could not be read", question)
