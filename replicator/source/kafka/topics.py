"""Chooses the topics of a source, and compares a position with what they have."""

from __future__ import annotations

import fnmatch
import time
from collections.abc import Iterable, Mapping, Sequence

from kafka import TopicPartition

from replicator.config.kafka_source import KafkaSource
from replicator.errors import PositionGone, SourceError, SourceUnavailable
from replicator.kafka.admin_client import SECONDS, AdminClient
from replicator.kafka.messages import list_offsets
from replicator.kafka.messages.metadata import Topic
from replicator.model.position import Position
from replicator.model.topic_offsets import TopicOffsets
from replicator.source.kafka.client import translating

_WHAT = "the topics of the source can't be read"


def chosen(client: AdminClient, config: KafkaSource) -> dict[str, Topic]:
    """Those that `source.topics` chooses, by name. Raises SourceError E2343: a named one is missing, or none matches;
    SourceUnavailable: the cluster does not know the leaders of one."""
    patterns = [topic for topic in config.topics if set(topic) & set("*?")]
    names = [topic for topic in config.topics if topic not in patterns]
    with translating(_WHAT):
        every = client.topics() if patterns else []
        matching = [name for name in every if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]
        wanted = list(dict.fromkeys([*names, *sorted(name for name in matching if not name.startswith("__"))]))
        found = {topic.name: topic for topic in client.describe(wanted)} if wanted else {}
    missing = [name for name in wanted if not (name in found and found[name].partitions)]
    if missing or not wanted:
        raise SourceError(
            "E2343",
            f"topic '{missing[0]}' does not exist" if missing else "no topic matches source.topics",
            found=f"{len(wanted) - len(missing)} topics" if wanted else ", ".join(config.topics),
            wanted="existing topics, and the privilege Describe on them",
        )
    numbers = {name: [each.number for each in found[name].partitions] for name in wanted}
    if any(sorted(its) != list(range(len(its))) for its in numbers.values()):
        raise SourceUnavailable("E2341", "the brokers do not name all partitions of a topic")
    return {name: found[name] for name in wanted}


def ends(client: AdminClient, topics: Iterable[Topic], which: int, *, committed: bool) -> dict[str, tuple[int, ...]]:
    """First or last offsets of all partitions, by topic."""
    places = {
        topic.name: [TopicPartition(topic.name, number) for number in range(len(topic.partitions))] for topic in topics
    }
    with translating(_WHAT):
        asked = [place for its in places.values() for place in its]
        found = client.offsets(asked, which, time.monotonic() + SECONDS, committed=committed)
    return {name: tuple(found[place] for place in its) for name, its in places.items()}


def position_of(topics: Mapping[str, Topic], offsets: Mapping[str, Sequence[int]]) -> Position:
    return Position.of_topics(tuple(TopicOffsets(name, tuple(offsets[name]), _id(topics[name])) for name in topics))


def _id(topic: Topic) -> str:
    return topic.id.hex() if any(topic.id) else ""


def check_not_compacted(client: AdminClient, names: Iterable[str]) -> None:
    """Raises SourceError E2355. A broker that does not tell is believed to keep all records."""
    for name in names:
        with translating(_WHAT):
            policy = client.settings(name, ["cleanup.policy"]).get("cleanup.policy") or ""
        if "compact" in policy:
            raise SourceError(
                "E2355",
                f"topic '{name}' is compacted",
                found=f"cleanup.policy={policy}",
                wanted="cleanup.policy=delete",
            )


def continued(client: AdminClient, topics: Mapping[str, Topic], position: Position) -> dict[str, TopicOffsets]:
    """Where each topic is read from: at the position; a topic that it does not have, from its first records.

    Raises:
        SourceError: E2343, E2344, E2346, E2353. PositionGone: E2345. SourceUnavailable.
    """
    if not position.topics:
        raise SourceError(
            "E2353",
            "the position is not one of topics",
            found=str(position),
            wanted="TOPIC:OFFSET[,...]",
            fix="`replicator task position set NAME --offsets TOPIC:OFFSET[,OFFSET...]`, or create the task with "
            "another name.",
        )
    known = {one.topic: one for one in position.topics}
    for name, one in known.items():
        if name not in topics:
            raise SourceError(
                "E2343",
                f"topic '{name}' is no longer read",
                found="not in source.topics",
                wanted=str(one),
                fix="Add the topic to `source.topics` again, or set a position without it: `replicator task position "
                "set NAME --offsets TOPIC:OFFSET[,OFFSET...]`.",
            )
    first = ends(client, topics.values(), list_offsets.FIRST, committed=False)
    last = ends(client, topics.values(), list_offsets.LAST, committed=False)
    found = {}
    for name, topic in topics.items():
        reached = known.get(name)
        if reached is None:
            found[name] = TopicOffsets(name, first[name], _id(topic))
            continue
        _check_same(reached, topic)
        for number, offset in enumerate(reached.next):
            check_within(name, number, offset, first[name][number], last[name][number])
        found[name] = TopicOffsets(name, reached.next, _id(topic))
    return found


def _check_same(one: TopicOffsets, topic: Topic) -> None:
    check_count(one.topic, len(one.next), len(topic.partitions))
    if one.id and _id(topic) and one.id != _id(topic):
        raise created_again(one.topic, one.id, _id(topic))


def check_count(topic: str, before: int, now: int) -> None:
    """Raises SourceError E2344. Keys are in other partitions now, and earlier records of theirs may not be applied."""
    if before != now:
        raise SourceError(
            "E2344",
            f"the number of partitions of topic '{topic}' has changed",
            found=f"{now} partitions",
            wanted=f"{before}, as in the position",
            fix="If all records from before the change are applied: "
            "`replicator task position set NAME --offsets OFFSETS` with an offset for each partition. Otherwise copy "
            "the tables again.",
        )


def created_again(topic: str, before: str, now: str) -> SourceError:
    return SourceError("E2344", f"topic '{topic}' was created again", found=f"id {now}", wanted=f"id {before}")


def check_within(topic: str, partition: int, offset: int, first: int, last: int) -> None:
    """Raises PositionGone E2345, SourceError E2346."""
    where = f"partition {partition} of topic '{topic}'"
    if offset < first:
        raise PositionGone(
            "E2345",
            f"{first - offset} records of {where} were deleted before they were read",
            found=f"the first record has offset {first}",
            wanted=f"offset {offset}",
            position=f"{topic}:{partition}:{offset}",
        )
    if offset > last:
        raise SourceError(
            "E2346",
            f"{where} ends before the position",
            found=f"the next record gets offset {last}",
            wanted=f"offset {offset} or a later one",
            position=f"{topic}:{partition}:{offset}",
        )
