"""The client that asks: for topics, their settings, and the few records of our own that an open sink begins with.

A consumer of the library's for those records would be a client more, with a connection, a thread and a round of
greetings for each topic that is read, and 0.5 MB in a process that reads them once. So they are fetched over the
connection that asks for the topics anyway. What is committed and what is not the library's fetcher decides, from the
broker's list of aborted transactions.

All that this takes from the library's insides is here; `test_admin_contract.py` names it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, Final, Protocol, TypeVar

from kafka import KafkaAdminClient
from kafka.consumer.fetcher import Fetcher
from kafka.errors import (
    KafkaTimeoutError,
    LeaderNotAvailableError,
    NoError,
    RetriableError,
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
_NO_LEADER: Final = -1
_PASSING: Final = RetriableError, UnknownBrokerIdError

T = TypeVar("T")


class Ask(Protocol):
    """`Topics.ask`: a question over the connection that is there for it; what could not be done, if it can't."""

    def __call__(self, what: str, question: Callable[[Admin], T]) -> T: ...


class Admin(KafkaAdminClient):  # type: ignore[misc]
    """Like the library's; and it reads."""

    def ends(self, place: TopicPartition, deadline: float) -> tuple[int, int]:
        """The first offset of a partition, and the one behind the last that is decided: where the next transaction
        begins that is still open, or its end. Raises KafkaError, of what passes not before `deadline`, monotonic
        seconds."""

        def end(spec: OffsetSpec) -> int:
            return int(self.list_partition_offsets({place: spec}, IsolationLevel.READ_COMMITTED)[place].offset)

        first, last = (self._until(deadline, end, spec) for spec in (OffsetSpec.EARLIEST, OffsetSpec.LATEST))
        return first, last

    def read(self, place: TopicPartition, start: int, until: int, deadline: float) -> Iterator[Any]:
        """The committed records of offsets [start, until), where `until` is not behind the end. They have `offset`,
        `key` and `value`.

        Raises:
            KafkaError: also when not all of it was read by `deadline`, monotonic seconds.
        """
        while start < until:
            records, start = self._until(deadline, self._manager.run, self._fetch, place, start)
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
                self._manager.call_soon(self._manager.cluster.request_update)
                time.sleep(_AGAIN_SECONDS)

    async def _fetch(self, place: TopicPartition, start: int) -> tuple[list[Any], int]:
        """Committed records from `start` on, and where to go on: behind what was not committed, too."""
        (leader,) = await self._async_get_leader_for_partitions([place])
        if leader == _NO_LEADER:
            raise LeaderNotAvailableError(f"{place.topic} {place.partition}")
        response = await self._manager.send(_request(place, start), node_id=leader)
        found = response.responses[0].partitions[0]
        error = for_code(found.error_code)
        if error is not NoError:
            raise error(f"{place.topic} {place.partition} could not be read at {start}")
        records = Fetcher.PartitionRecords(
            start,
            place,
            MemoryRecords(found.records or b""),
            isolation_level=IsolationLevel.READ_COMMITTED,
            aborted_transactions=found.aborted_transactions,
        )
        return list(records.record_iterator), records.next_fetch_offset


def _request(place: TopicPartition, start: int) -> Any:
    """A fetch of one partition, outside of any fetch session."""
    kind = FetchRequest.FetchTopic
    partition = kind.FetchPartition(partition=place.partition, fetch_offset=start, partition_max_bytes=_FETCH_BYTES)
    least, most = FETCH_VERSIONS
    return FetchRequest(
        max_wait_ms=_FETCH_MS,
        min_bytes=1,
        max_bytes=_FETCH_BYTES,
        isolation_level=IsolationLevel.READ_COMMITTED,
        topics=[kind(topic=place.topic, partitions=[partition])],
        min_version=least,
        max_version=most,
    )
