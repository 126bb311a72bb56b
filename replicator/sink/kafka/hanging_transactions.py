"""Hanging transactions: committed according to a broker that never wrote the markers which end them.

A broker that dies after its word that a transaction is committed and before the markers that tell so in the partitions
writes them when it is back. One that reads its transactions before it knows its topics takes the partitions for deleted
and the transaction for ended (Kafka 4.3: "these partitions are likely deleted already and hence can be skipped").
Consumers of read_committed then wait there for ever, the position in it is not found, and the next transaction of the
same producer that ends in those partitions ends this one too: rows that were sent again for want of the position stand
there twice.

So a term looks for such before it reads its position, and ends them as their transaction was decided. Within a term no
transaction follows one that may have been left so (`replicator.kafka.transaction`).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from typing import Final

from kafka import TopicPartition
from kafka.errors import AuthorizationError, UnsupportedVersionError

from replicator.errors import SinkUnavailable
from replicator.kafka.admin_client import AdminClient
from replicator.kafka.producer import Producer
from replicator.sink.kafka.errors import translating
from replicator.sink.kafka.names import counts_topic, position_topic, transactional_id
from replicator.sink.kafka.topics import Topics

log = logging.getLogger(__name__)

_SECONDS: Final = 20.0
_REFUSE_SECONDS: Final = 2.0
_LOOK_SECONDS: Final = 0.01
_ABORTED: Final = frozenset(
    (
        "Ongoing",  # fencing aborts it
        "PrepareAbort",
        "PrepareEpochFence",
        "CompleteAbort",
    )
)


class HangingTransactions:
    """What earlier terms of a task left. `look` before fencing, which makes the coordinator forget; then `settle`."""

    def __init__(self, topics: Topics, task: str, installation: str = "") -> None:
        self._topics = topics
        self._id = transactional_id(task, installation)
        self._own = position_topic(task, installation), counts_topic(task, installation)
        self._commit: bool | None = None

    def look(self) -> None:
        """How the last transaction was decided. Raises SinkUnavailable, SinkError."""
        self._commit = self._topics.ask("the last transaction could not be read", self._decided)

    def settle(self, producer: Producer) -> None:
        """Ends what hangs, with a transaction of the fenced producer that has those partitions in it and no record.

        Raises:
            SinkUnavailable: it still hangs; or no answer.
            SinkError
        """
        if self._commit is None:
            return
        found = self._undecided(self._written())
        if not found:
            return
        word = "committed" if self._commit else "aborted"
        shown = ", ".join(f"{place.topic} {place.partition}" for place in found[:5])
        log.warning("a hanging transaction in %d partitions is %s: %s", len(found), word, shown)
        deadline = time.monotonic() + _SECONDS
        with translating("a hanging transaction could not be completed"):
            _end(producer, found, self._commit, deadline)
        fix = "Find it with `kafka-transactions.sh find-hanging` and abort it. The task then continues."
        self._wait(self._own[:1], deadline, "a transaction that contains the position of the task does not end", fix)

    def refuse(self) -> None:
        """Between two transactions. Raises SinkUnavailable where one is without an end, or may be: a term that begins
        anew settles it."""
        what = "the transaction coordinator was not available, and a transaction of the task is hanging"
        self._wait(self._written(), time.monotonic() + _REFUSE_SECONDS, what)

    def _decided(self, admin: AdminClient) -> bool | None:
        """None: the coordinator does not know us, so the task has never written here. Where it can't be known, what
        hangs is committed: it may be a second time then, and otherwise might never be."""
        try:
            state = admin.transaction_state(self._id, time.monotonic() + _SECONDS)
        except (AuthorizationError, UnsupportedVersionError):
            return True
        return None if state is None else state not in _ABORTED

    def _written(self) -> Sequence[str]:
        return list(dict.fromkeys((*self._own, *self._topics.written())))

    def _undecided(self, topics: Sequence[str]) -> list[TopicPartition]:
        deadline = time.monotonic() + _SECONDS
        what = "open transactions could not be read"
        return self._topics.ask(what, lambda admin: admin.undecided(topics, deadline))

    def _wait(self, topics: Sequence[str], deadline: float, what: str, fix: str = "") -> None:
        """Until none is open there. Raises SinkUnavailable."""
        while found := self._undecided(topics):
            if time.monotonic() > deadline:
                place = f"{found[0].topic}, partition {found[0].partition}"
                raise SinkUnavailable("E3002", what, found=place, fix=fix)
            time.sleep(_LOOK_SECONDS)


def _end(producer: Producer, places: Iterable[TopicPartition], commit: bool, deadline: float) -> None:
    """By the first protocol: the second adds a partition with its first batch, and there is none. Raises KafkaError."""
    producer.begin(second=False)
    for place in places:
        producer.add((place.topic, place.partition))
    producer.end(max(1.0, deadline - time.monotonic()), commit=commit)
