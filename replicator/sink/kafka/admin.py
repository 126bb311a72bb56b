"""The client that asks: for topics, their settings, and the few records of our own that an open sink begins with.

A consumer of the library's for those records would be a client more, with a connection, a thread and a round of
greetings for each topic that is read, and 0.5 MB in a process that reads them once. So they are fetched over the
connection that asks for the topics anyway. What is committed and what is not the library's fetcher decides, from the
broker's list of aborted transactions.

All that this takes from the library's insides is here; `test_admin_contract.py` names it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Protocol, TypeVar

from kafka import KafkaAdminClient
from kafka.admin import TransactionState
from kafka.consumer.fetcher import Fetcher
from kafka.errors import (
    KafkaTimeoutError,
    LeaderNotAvailableError,
    NoError,
    RetriableError,
    TransactionalIdNotFoundError,
    UnknownBrokerIdError,
    for_code,
)
from kafka.protocol.consumer import FetchRequest, IsolationLevel
from kafka.protocol.consumer.offsets import OffsetSpec
from kafka.record.memory_records import MemoryRecords
from kafka.structs import TopicPartition

FETCH_VERSIONS: Final = 4, 12
"""Of the API: the first that knows transactions, and the last that names topics by their names."""

_FETCH_BYTES: Final = 1 << 20
_FETCH_MS: Final = 50
_AGAIN_SECONDS: Final = 0.05
_LEADS_SECONDS: Final = 0.5  # the library asks again for as long as an answer is that somebody else leads
_NO_LEADER: Final = -1
_PASSING: Final = RetriableError, UnknownBrokerIdError

T = TypeVar("T")


class Ask(Protocol):
    """`Topics.ask`: a question over the connection that is there for it; what could not be done, if it can't."""

    def __call__(self, what: str, question: Callable[[Admin], T]) -> T: ...


class Admin(KafkaAdminClient):  # type: ignore[misc]
    """Like the library's; and it reads. It also remembers who leads, for a moment: the library asks before each
    question."""

    def __init__(self, **settings: Any) -> None:
        self._leaders: dict[TopicPartition, int] = {}  # of the last answer alone: a task may have thousands
        self._lead_until = 0.0
        super().__init__(**settings)

    def ends(
        self, place: TopicPartition, deadline: float, level: IsolationLevel = IsolationLevel.READ_COMMITTED
    ) -> tuple[int, int]:
        """The first offset of a partition, and the one behind the last that is decided: where the next transaction
        begins that is still open, or its end; always its end with READ_UNCOMMITTED. Raises KafkaError, of what passes
        not before `deadline`, monotonic seconds."""

        def end(spec: OffsetSpec) -> int:
            return int(self.list_partition_offsets({place: spec}, level)[place].offset)

        first, last = (self._until(deadline, end, spec) for spec in (OffsetSpec.EARLIEST, OffsetSpec.LATEST))
        return first, last

    def undecided(self, topics: Iterable[str], deadline: float) -> list[TopicPartition]:
        """The partitions of those topics, where they exist, that have a transaction in them without an end, whoever's
        it is. Raises KafkaError, as `ends`."""
        described = self._until(deadline, self.describe_topics, list(topics))
        asked = {
            TopicPartition(topic["name"], partition["partition_index"]): OffsetSpec.LATEST
            for topic in described
            if not topic["error_code"]
            for partition in topic["partitions"]
        }
        # What is decided is asked for last: what comes meanwhile can't look undecided then.
        everything, decided = (
            self._until(deadline, self.list_partition_offsets, asked, level)
            for level in (IsolationLevel.READ_UNCOMMITTED, IsolationLevel.READ_COMMITTED)
        )
        return [place for place in asked if decided[place].offset < everything[place].offset]

    def transaction_state(self, transactional_id: str, deadline: float) -> TransactionState | None:
        """What its coordinator says of a transactional id; None of one that it does not know. Raises KafkaError, as
        `ends`."""

        def state() -> TransactionState:
            try:
                return self.describe_transactions([transactional_id])[transactional_id].state
            except RetriableError:
                self._manager.cluster._coordinators.clear()  # another broker's, perhaps: it is looked up again
                raise

        try:
            return self._until(deadline, state)
        except TransactionalIdNotFoundError:
            return None

    def read(
        self,
        place: TopicPartition,
        start: int,
        until: int,
        deadline: float,
        level: IsolationLevel = IsolationLevel.READ_COMMITTED,
    ) -> Iterator[Any]:
        """The committed records of offsets [start, until), where `until` is not behind the end; all records with
        READ_UNCOMMITTED. They have `offset`, `key` and `value`.

        Raises:
            KafkaError: also when not all of it was read by `deadline`, monotonic seconds.
        """
        while start < until:
            records, start = self._until(deadline, self._manager.run, self._fetch, place, start, level)
            yield from (record for record in records if record.offset < until)
            if start < until and time.monotonic() > deadline:
                raise KafkaTimeoutError(f"offset {start} of {place.topic} was not reached in time")

    def _until(self, deadline: float, ask: Callable[..., T], *arguments: Any) -> T:
        """The answer, asked for again while a leader moves, a broker is away or is one that we have not heard of."""
        while True:
            try:
                return ask(*arguments)
            except _PASSING:
                if time.monotonic() > deadline:
                    raise
                self._leaders.clear()
                self._manager.call_soon(self._manager.cluster.request_update)
                time.sleep(_AGAIN_SECONDS)

    async def _get_cluster_metadata(self, topics: Any) -> Any:
        metadata = await super()._get_cluster_metadata(topics)
        self._leaders = {
            TopicPartition(topic["name"], partition["partition_index"]): partition["leader_id"]
            for topic in metadata["topics"]
            for partition in topic["partitions"]
        }
        self._lead_until = time.monotonic() + _LEADS_SECONDS
        return metadata

    async def _async_get_leader_for_partitions(self, partitions: Iterable[TopicPartition]) -> Any:
        found: dict[int, set[TopicPartition]] = {}
        for place in partitions:
            found.setdefault(self._leaders.get(place, _NO_LEADER), set()).add(place)
        if _NO_LEADER in found or self._lead_until < time.monotonic():
            return await super()._async_get_leader_for_partitions(partitions)
        return found

    async def _fetch(self, place: TopicPartition, start: int, level: IsolationLevel) -> tuple[list[Any], int]:
        """Records from `start` on, and where to go on: behind what was not committed, too."""
        (leader,) = await self._async_get_leader_for_partitions([place])
        if leader == _NO_LEADER:
            raise LeaderNotAvailableError(f"{place.topic} {place.partition}")
        response = await self._manager.send(_request(place, start, level), node_id=leader)
        found = response.responses[0].partitions[0]
        error = for_code(found.error_code)
        if error is not NoError:
            raise error(f"{place.topic} {place.partition} could not be read at {start}")
        records = Fetcher.PartitionRecords(
            start,
            place,
            MemoryRecords(found.records or b""),
            isolation_level=level,
            aborted_transactions=found.aborted_transactions,
        )
        return list(records.record_iterator), records.next_fetch_offset


def _request(place: TopicPartition, start: int, level: IsolationLevel) -> Any:
    """A fetch of one partition, outside of any fetch session."""
    kind = FetchRequest.FetchTopic
    partition = kind.FetchPartition(partition=place.partition, fetch_offset=start, partition_max_bytes=_FETCH_BYTES)
    least, most = FETCH_VERSIONS
    return FetchRequest(
        max_wait_ms=_FETCH_MS,
        min_bytes=1,
        max_bytes=_FETCH_BYTES,
        isolation_level=level,
        topics=[kind(topic=place.topic, partitions=[partition])],
        min_version=least,
        max_version=most,
    )
