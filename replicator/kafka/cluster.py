"""Metadata of a cluster: its brokers, and the leader of each partition of the topics in use."""

from __future__ import annotations

from typing import Final

from replicator.kafka import errors
from replicator.kafka.batch import Place
from replicator.kafka.messages.metadata import Metadata, Topic

NOBODY: Final = -1
_AGE_SECONDS: Final = 300.0
_FIRST_SECONDS, _MOST_SECONDS = 0.02, 0.5
"""Between two requests while something is unknown: at first, and at most."""


class Cluster:
    """
    Attributes:
        brokers: host and port by node.
    """

    def __init__(self) -> None:
        self.brokers: dict[int, tuple[str, int]] = {}
        self._wanted: dict[str, None] = {}
        self._counts: dict[str, int] = {}
        self._errors: dict[str, int] = {}
        self._leaders: dict[Place, tuple[int, int]] = {}  # node, leader epoch
        self._ids: dict[str, bytes] = {}
        self._due = 0.0
        self._wait = _FIRST_SECONDS
        self._asked = False

    def want(self, topic: str) -> None:
        """The topic's leaders are looked up, now and from time to time."""
        if topic not in self._wanted:
            self._wanted[topic] = None
            self._due = 0.0

    def partitions(self, topic: str) -> int | None:
        """The number of the topic's partitions, None while it is unknown."""
        return self._counts.get(topic)

    def error(self, topic: str) -> int:
        """The code with which the last lookup of the topic was answered."""
        return self._errors.get(topic, 0)

    def leader(self, place: Place) -> int:
        """The leader's node, `NOBODY` while it is unknown."""
        return self._leaders.get(place, (NOBODY, 0))[0]

    def stale(self, now: float) -> None:
        """A leader has moved, or a broker is away: look it up soon."""
        if not self._asked:
            self._due = min(self._due, now + self._wait)

    def topics_to_ask(self, now: float) -> list[str] | None:
        """The topics of the next lookup; None: it is not due."""
        return None if self._asked or now < self._due else list(self._wanted)

    @property
    def due(self) -> float:
        """Monotonic time of the next lookup."""
        return float("inf") if self._asked else self._due

    def asked(self) -> None:
        self._asked = True

    def unanswered(self, now: float) -> None:
        """The lookup was lost."""
        self._asked = False
        self._again(now)

    def learn(self, found: Metadata, now: float) -> None:
        self._asked = False
        if found.brokers:
            self.brokers = {broker.node: (broker.host, broker.port) for broker in found.brokers}
        complete = bool(found.brokers) and not found.error
        for topic in found.topics:
            complete = self._learn(topic) and complete
        missing = self._wanted.keys() - {topic.name for topic in found.topics}
        if missing and not found.error:
            self._due = now
        elif complete:
            self._due, self._wait = now + _AGE_SECONDS, _FIRST_SECONDS
        else:
            self._again(now)

    def _again(self, now: float) -> None:
        self._due = now + self._wait
        self._wait = min(2 * self._wait, _MOST_SECONDS)

    def _learn(self, topic: Topic) -> bool:
        """False: something about it is unknown still."""
        self._errors[topic.name] = topic.error
        if topic.error and topic.error not in errors.STALE_METADATA:
            return True  # as it is: whoever waits is told
        if topic.error or not topic.partitions:
            return False
        same = any(topic.id) and self._ids.get(topic.name) == topic.id
        self._ids[topic.name] = topic.id
        self._counts[topic.name] = len(topic.partitions)
        complete = True
        for partition in topic.partitions:
            place = topic.name, partition.number
            _, epoch = self._leaders.get(place, (NOBODY, -1))
            if same and partition.leader_epoch < epoch:
                continue  # of a broker that is behind
            self._leaders[place] = partition.leader, partition.leader_epoch
            complete = complete and partition.leader != NOBODY
        return complete
