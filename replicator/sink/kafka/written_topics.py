"""The topics that a task has written, for a deletion that includes them."""

from __future__ import annotations

import time
from contextlib import closing
from typing import Final

import msgspec
from kafka.errors import KafkaError

from replicator.config.task import KafkaSink
from replicator.errors import ProcessError
from replicator.kafka.admin_client import AdminClient
from replicator.sink.kafka.admin import REQUEST_MS, connect_library_admin
from replicator.sink.kafka.names import counts_topic, counts_topics, position_topic
from replicator.sink.kafka.partition_counts import read_topics
from replicator.sink.kafka.topics import Topics

_GONE_SECONDS: Final = 15.0
_POLL_SECONDS: Final = 0.2


class WrittenTopics(msgspec.Struct, frozen=True):
    """What a Kafka has of a task.

    Attributes:
        own: topics that this task alone has written, and those that it keeps for itself.
        shared: that other tasks of this Kafka have written as well; they are never deleted.
    """

    own: tuple[str, ...]
    shared: tuple[str, ...]


class TopicPurge:
    """Topics of one task. Connects at the first question; `close` it."""

    def __init__(self, sink: KafkaSink, task: str, installation: str) -> None:
        self._sink, self._task, self._installation = sink, task, installation
        self._topics = Topics(sink, task, installation=installation)

    def close(self) -> None:
        self._topics.disconnect()

    def find(self) -> WrittenTopics:
        """By what each task records of the topics that it writes, aborted transactions included: names alone prove
        nothing, as templates of tasks can meet. Raises SinkError, SinkUnavailable."""
        there = set(self._names())
        mine = counts_topic(self._task, self._installation)
        kept = [name for name in (mine, position_topic(self._task, self._installation)) if name in there]
        written = set(read_topics(self._topics.ask, mine)) & there if mine in there else set()
        others: set[str] = set()
        for name in counts_topics(there) if written else ():
            if name != mine:
                others.update(read_topics(self._topics.ask, name))
        return WrittenTopics((*sorted(written - others), *kept), tuple(sorted(written & others)))

    def delete(self, names: tuple[str, ...]) -> None:
        """Those that are there. Raises ProcessError E5060 with the topics that remain; SinkUnavailable."""
        left = [name for name in names if name in self._names()]
        failed: BaseException | None = None
        if left:
            with closing(connect_library_admin(self._sink)) as admin:
                try:
                    admin.delete_topics(left, timeout_ms=REQUEST_MS)
                except KafkaError as error:
                    failed = error
        deadline = time.monotonic() + _GONE_SECONDS
        while left and failed is None and time.monotonic() < deadline:
            there = self._names()
            left = [name for name in left if name in there]
            time.sleep(_POLL_SECONDS if left else 0)
        if failed is not None:
            left = [name for name in left if name in self._names()]
        if left:
            reason = f": {failed}" if failed is not None else ""
            raise ProcessError("E5060", "some topics were not deleted", found=", ".join(left) + reason)

    def _names(self) -> list[str]:
        return list(self._topics.ask("the topics could not be listed", AdminClient.topics))
