"""Finds consumer groups whose unread records are deleted, or about to be deleted, by Kafka's retention."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Final

from kafka import KafkaAdminClient, OffsetSpec, TopicPartition
from kafka.errors import KafkaError

from replicator.model.finding import Finding

_EARLY: Final = 0.8
"""The share of a topic's retention after which an unread record is about to go."""
_SHOWN: Final = 3
_FIX: Final = (
    "Start or speed up the consumer; kafka-configs.sh --alter --topic TOPIC --add-config retention.ms=604800000"
)


def check_consumers(admin: KafkaAdminClient, retention_ms: Mapping[str, int]) -> list[Finding]:
    """One finding about all groups that have committed positions in these topics; none where there are no groups, or
    where we may not ask.

    Args:
        retention_ms: by topic; negative: nothing is deleted by time.
    """
    groups = _groups(admin, retention_ms)
    if not groups:
        return []
    wrong = [line for lines in groups.values() for line in lines]
    if not wrong:
        return [Finding.ok("sink.consumers", f"{len(groups)} consumer groups are well within the retention time")]
    more = f" and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
    shown = "; ".join(wrong[:_SHOWN]) + more
    return [Finding("sink.consumers", "warn", shown, "every group reads records before they are deleted", _FIX)]


def late_consumers(admin: KafkaAdminClient, retention_ms: Mapping[str, int]) -> dict[str, str]:
    """What those groups lose, or are about to, that read too slowly; arguments as in `check_consumers`."""
    return {
        group: lines[0] + (f", and of {len(lines) - 1} more partitions" if len(lines) > 1 else "")
        for group, lines in _groups(admin, retention_ms).items()
        if lines
    }


def _groups(admin: KafkaAdminClient, retention_ms: Mapping[str, int]) -> dict[str, list[str]]:
    """What is wrong with each group that has a position in these topics; {} where we may not ask."""
    try:
        groups = _positions(admin, retention_ms)
        places = {place for positions in groups.values() for place in positions}
        if not places:
            return {}
        first = _offsets(admin, dict.fromkeys(places, OffsetSpec.EARLIEST))
        old = _old(admin, places, retention_ms)
    except KafkaError:
        return {}
    return {
        group: [
            line
            for place, offset in sorted(positions.items())
            if (line := _late(group, place, offset, first[place], old.get(place, 0)))
        ]
        for group, positions in sorted(groups.items())
    }


def _late(group: str, place: TopicPartition, offset: int, first: int, old: int) -> str:
    """What is wrong with a group that goes on at `offset`; records before `old` are nearly as old as they get."""
    where = f"{place.topic}/{place.partition}"
    if offset < first:
        return f"'{group}' has lost {first - offset} records of {where}: deleted before it read them"
    if offset < old:
        return f"'{group}' is about to lose {old - offset} records of {where}: {_EARLY:.0%} of the retention has passed"
    return ""


def _positions(admin: KafkaAdminClient, topics: Iterable[str]) -> dict[str, dict[TopicPartition, int]]:
    wanted = set(topics)
    names = [str(group["group_id"]) for group in admin.list_groups()]
    if not names:
        return {}
    found = {
        group: {place: held.offset for place, held in positions.items() if place.topic in wanted and held.offset >= 0}
        for group, positions in admin.list_group_offsets(names).items()
    }
    return {group: positions for group, positions in found.items() if positions}


def _offsets(admin: KafkaAdminClient, specs: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    return {place: found.offset for place, found in admin.list_partition_offsets(dict(specs)).items()}


def _old(
    admin: KafkaAdminClient, places: set[TopicPartition], retention_ms: Mapping[str, int]
) -> dict[TopicPartition, int]:
    """The end of what is older than `_EARLY` of its retention, of each place where something is deleted by time."""
    now = time.time() * 1000
    marks = {place: int(now - _EARLY * retention_ms[place.topic]) for place in places if retention_ms[place.topic] >= 0}
    if not marks:
        return {}
    found = _offsets(admin, marks)
    none_newer = [place for place, offset in found.items() if offset < 0]
    if none_newer:
        found |= _offsets(admin, dict.fromkeys(none_newer, OffsetSpec.LATEST))
    return found
