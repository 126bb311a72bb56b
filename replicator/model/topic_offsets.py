"""Positions in topics: the next offset of each partition."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec


class TopicOffsets(msgspec.Struct, frozen=True, omit_defaults=True):
    """
    Attributes:
        topic: its name.
        next: offset of the next record, by partition.
        id: 32 hexadecimal digits, which a topic that is created again does not get again; "" where the broker does not
            tell.
    """

    topic: str
    next: tuple[int, ...]
    id: str = ""

    def __str__(self) -> str:
        return f"{self.topic}:{','.join(map(str, self.next))}"


def shown(offsets: Iterable[TopicOffsets]) -> str:
    """`shop.item:120,98;shop.customer:7`: topics, and the next offset of each partition from 0 on."""
    return ";".join(map(str, offsets))


def parsed(text: str) -> tuple[TopicOffsets, ...]:
    """The inverse of `shown`, without ids. Raises ValueError."""
    found: dict[str, TopicOffsets] = {}
    for part in text.replace(" ", "").split(";"):
        topic, colon, numbers = part.rpartition(":")
        offsets = tuple(int(number) for number in numbers.split(","))
        if not colon or not topic or topic in found or min(offsets) < 0:
            raise ValueError(f"{part[:100]!r} is not TOPIC:OFFSET[,OFFSET...]")
        found[topic] = TopicOffsets(topic, offsets)
    return tuple(found.values())


def total(offsets: Iterable[TopicOffsets]) -> int:
    return sum(sum(one.next) for one in offsets)


def distance(ours: Sequence[TopicOffsets], theirs: Sequence[TopicOffsets]) -> tuple[int, int] | None:
    """How many offsets each of the two has in front of the other, in partitions where it is ahead. A partition that
    one lacks is at 0 there. None: a topic was created again between them, or its number of partitions went down."""
    ahead = behind = 0
    one, other = ({each.topic: each for each in side} for side in (ours, theirs))
    for topic in one.keys() | other.keys():
        a, b = one.get(topic), other.get(topic)
        if a and b and a.id and b.id and a.id != b.id:
            return None
        mine, its = a.next if a else (), b.next if b else ()
        for number in range(max(len(mine), len(its))):
            left = (mine[number] if number < len(mine) else 0) - (its[number] if number < len(its) else 0)
            ahead, behind = ahead + max(0, left), behind + max(0, -left)
    return ahead, behind


def relation(
    ours: Sequence[TopicOffsets], theirs: Sequence[TopicOffsets]
) -> Literal["behind", "same", "ahead", "unknown"]:
    """Where the first one is, seen from the second."""
    found = distance(ours, theirs)
    if found is None or (found[0] and found[1]):
        return "unknown"
    return "ahead" if found[0] else "behind" if found[1] else "same"
