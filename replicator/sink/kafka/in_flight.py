"""Which partitions must wait before their next batch may leave: several on their way at once, never out of order.

With idempotence kafka-python keeps one batch of a partition on its way: the broker idles while an answer travels, and
we idle while it writes. The broker accepts up to five, and refuses one whose predecessor is missing, but only where it
knows the producer: with one that is new to it any number may come first (KIP-360). So a partition's first batch goes
alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from kafka.structs import TopicPartition

LIMIT = 4
"""Requests that wait for an answer of one broker, and so batches of one partition. The broker remembers the last five
of a partition, by which it knows repeated ones; the client's connection stops at five, and its sender would then
spin."""


class InFlight:
    """Stands where the accumulator keeps its set of muted partitions: the sender adds one for each batch that leaves,
    discards it when an answer has come, and passes over those that are in it. All of it in the sender's thread.

    Args:
        requests: how many wait for an answer of this partition's leader.
    """

    def __init__(self, requests: Callable[[TopicPartition], int]) -> None:
        self._requests = requests
        self._away: Counter[TopicPartition] = Counter()
        self._known: set[TopicPartition] = set()

    def __contains__(self, place: TopicPartition) -> bool:
        away = self._away[place]
        if away and (away >= LIMIT or place not in self._known):
            return True
        return self._requests(place) >= LIMIT

    def add(self, place: TopicPartition) -> None:
        self._away[place] += 1

    def discard(self, place: TopicPartition) -> None:
        self._away[place] = max(0, self._away[place] - 1)

    def acknowledged(self, place: TopicPartition) -> None:
        """The leader has a batch of ours, so it notices when another one is missing."""
        self._known.add(place)

    def repeat(self, place: TopicPartition) -> None:
        """A batch has to leave once more: until it is there, no other leaves with it."""
        self._known.discard(place)
