"""Looks topics up, or creates them explicitly; they are never created automatically.

Looked up when the first record for a topic comes. The number of partitions is remembered for the life of the sink and
goes on to be used when somebody adds partitions meanwhile: another number would send the next change of a key to
another partition, past the one before it. Beyond the life of the sink it is recorded (`partition_counts.py`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from kafka.errors import for_code

from replicator.config.task import KafkaSink
from replicator.errors import SinkError, SinkUnavailable
from replicator.kafka.admin_client import AdminClient
from replicator.sink.kafka.admin import connect_admin
from replicator.sink.kafka.errors import translate, translating
from replicator.sink.kafka.names import counts_topic, former_counts_topics
from replicator.sink.kafka.partition_counts import changed, read_counts, read_topics
from replicator.sink.kafka.records import BATCH_OVERHEAD
from replicator.sink.kafka.topic import Topic

log = logging.getLogger(__name__)

_MISSING = 3  # UNKNOWN_TOPIC_OR_PARTITION
_NOT_ALLOWED = 29  # TOPIC_AUTHORIZATION_FAILED
_MOST_BYTES: Final = "max.message.bytes"

T = TypeVar("T")


def _gone(name: str) -> SinkError:
    return SinkError("E3101", f"the topic '{name}' was deleted", fix="Restore or create it; then retry the task.")


class Topics:
    """The topics of one sink. Connects on first use, and again after each `disconnect`.

    Args:
        dead_letters: where records go that are too large for the other topics, if anywhere.
        installation: see `names`.
    """

    def __init__(self, config: KafkaSink, task: str, dead_letters: str | None = None, installation: str = "") -> None:
        self._config = config
        self._counts_topic = counts_topic(task, installation)
        self._former_counts = former_counts_topics(task, installation)  # read, never written
        self._stored: dict[str, int] | None = None  # numbers of partitions, as a term before us left them
        self._counts: dict[str, int] = {}  # and as they are in use
        self._dead_letters = dead_letters
        self._admin: AdminClient | None = None
        self._known: dict[str, Topic] = {}
        self._verified: set[str] = set()
        self._made: set[str] = set()  # by us: whatever its predecessors had, no key has moved in it

    def get(self, name: str) -> Topic:
        """The topic, created when it is missing and `create_topics` allows. Raises SinkError, SinkUnavailable."""
        if name in self._verified:
            return self._known[name]
        topic = self._obtain(name, self._config.partitions, {})
        self._compare(topic)
        return topic

    def _compare(self, topic: Topic) -> None:
        """The number of partitions with the one before, which a topic does not have that is new to the task. Raises
        E3106 where the task says so."""
        if self._stored is None:
            self._stored = self._recorded(self._counts_topic)
            for name in self._former_counts:
                self._counts = {**self._recorded(name), **self._counts}
            self._counts = {**self._stored, **self._counts}
        before, made = self._counts.get(topic.name, topic.partitions), topic.name in self._made
        self._made.discard(topic.name)
        policy = self._config.partitions_changed
        if before != topic.partitions and not made and policy != "accept":
            if policy == "fail" or topic.partitions < before:
                self._forget(topic.name)
                raise changed(topic.name, before, topic.partitions)
            topic.partitions = before
        self._counts[topic.name] = topic.partitions
        topic.recorded = self._stored.get(topic.name) == topic.partitions

    def _recorded(self, name: str) -> dict[str, int]:
        return read_counts(self.ask, name) if self._describe(name) is not None else {}

    def _forget(self, name: str) -> None:
        """All is asked anew the next time: an operator may have changed any of it."""
        self._stored = None
        self._counts.pop(name, None)
        self._known.pop(name, None)
        self._verified.discard(name)

    def counts(self) -> Topic | None:
        """Where numbers of partitions are recorded; None where it is missing and may not be created."""
        name = self._counts_topic
        if name in self._verified:
            return self._known[name]
        if not self._config.create_topics and self._describe(name) is None:
            log.warning("the number of partitions is not recorded: there is no topic '%s'", name)
            return None
        return self._obtain(name, 1, {"cleanup.policy": "compact"})

    def written(self) -> list[str]:
        """All topics that the task has ever written to, also in transactions that are aborted or have no end."""
        name = self._counts_topic
        return read_topics(self.ask, name) if self._describe(name) is not None else []

    def position(self, name: str) -> Topic:
        """The position topic: one partition, compacted, small segments so that compaction gets at them."""
        settings = {"cleanup.policy": "compact", "segment.bytes": str(16 << 20), "min.cleanable.dirty.ratio": "0.1"}
        return self._obtain(name, 1, settings)

    def verify(self, names: Iterable[str]) -> None:
        """Asks the broker now. Raises E3101 for a topic that was there and is gone."""
        for name in names:
            if self._describe(name) is None:
                raise _gone(name)

    def disconnect(self) -> None:
        """Closes the admin client; every topic is looked up again after this."""
        admin, self._admin = self._admin, None
        self._verified.clear()
        if admin is not None:
            admin.close()

    def _obtain(self, name: str, partitions: int, settings: dict[str, str]) -> Topic:
        found = self._describe(name)
        if found is None:
            if name in self._known:  # it was there in this very term: deleted by somebody, and not ours to make again
                raise _gone(name)
            if not self._config.create_topics:
                raise SinkError(
                    "E3101",
                    f"the topic '{name}' does not exist and sink.create_topics is false",
                    wanted=f"{partitions} partition{'' if partitions == 1 else 's'}"
                    + "".join(f", {key}={value}" for key, value in settings.items()),
                )
            self._create(name, partitions, settings)
            self._made.add(name)
            found = self._describe(name)
        if not found:
            raise SinkUnavailable("E3002", f"the topic '{name}' has no partitions yet")
        record_bytes = self._record_bytes(name)
        topic = self._known.get(name)
        if topic is None:
            lenient = self._dead_letters not in (None, name)
            topic = self._known[name] = Topic(name, found, record_bytes, lenient=lenient)
        elif found < topic.partitions:
            topic.partitions = found  # deleted and made again: the old number can't be kept
        topic.limit(record_bytes)
        self._verified.add(name)
        return topic

    def _describe(self, name: str) -> int | None:
        """The number of partitions, None for a topic that does not exist."""
        answer = self.ask(f"the topic '{name}' could not be described", lambda admin: admin.describe([name]))[0]
        code = answer.error
        if code == _MISSING:
            return None
        if code == _NOT_ALLOWED:
            raise SinkError("E3103", f"no permission to describe the topic '{name}'", fix=f"Grant Describe on {name}.")
        if code:
            raise translate(for_code(code)(), f"the topic '{name}' could not be described")
        return len(answer.partitions)

    def _create(self, name: str, partitions: int, settings: dict[str, str]) -> None:
        replicas = self._config.replication_factor
        what = f"the topic '{name}' could not be created"
        self.ask(what, lambda admin: admin.create(name, partitions, replicas, settings))

    def _record_bytes(self, name: str) -> int:
        """Our limit, or the topic's when that is lower and may be read."""
        what = f"the settings of '{name}' could not be read"
        most = self.ask(what, lambda admin: admin.settings(name, (_MOST_BYTES,))).get(_MOST_BYTES)
        if most is None:
            return self._config.max_record_bytes
        return min(self._config.max_record_bytes, max(1, int(most) - BATCH_OVERHEAD))

    def ask(self, what: str, question: Callable[[AdminClient], T]) -> T:
        """Asks over the one connection that there is for it. `what` could not be done, if it can't: SinkUnavailable,
        SinkError."""
        if self._admin is None:
            self._admin = connect_admin(self._config)
        with translating(what):
            return question(self._admin)
