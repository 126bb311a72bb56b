"""The interface between the Kafka sinks and a producer. Implementations: `batch_producer.py` (our own client, whole
batches) and `record_producer.py` (kafka-python, record by record)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from replicator.model.batch import Record
from replicator.sink.kafka.hanging_transactions import HangingTransactions
from replicator.sink.kafka.topic import Topic


class LongValue(Protocol):
    """`compiled.kafka.LongValue`: a buffer, and `release`, which gives back what is before a place."""

    def release(self, end: int, /) -> None: ...

    def __len__(self) -> int: ...

    def __buffer__(self, flags: int, /) -> memoryview: ...


class Body(Protocol):
    """A batch that the compiled code made (`compiled.kafka.Body`): a writable buffer that begins with room for the
    batch's header. `record`: gives the only record; None where there are several. `value`: of an only record, where it
    is not in the buffer, but comes behind `head` bytes of it; `record` gives it without that then."""

    @property
    def count(self) -> int: ...

    @property
    def record(self) -> Callable[[], Record] | None: ...

    @property
    def head(self) -> int: ...

    @property
    def value(self) -> LongValue | None: ...

    def __buffer__(self, flags: int, /) -> memoryview: ...


class ProducerPort(Protocol):
    """One producer and what is handed to it. Pieces are admitted by the window and reported to it.

    Every method but `close` raises ReplicatorError only: the client's errors are translated (`errors.translate`).
    """

    def init_transactions(self, hanging: HangingTransactions) -> None:
        """Fences earlier producers of the transactional id, aborts what they left open, and ends what a broker forgot
        to end."""
        ...

    def know(self, topic: Topic) -> None:
        """Looks up the leaders of a topic's partitions."""
        ...

    def begin(self, position: Topic, hanging: HangingTransactions) -> None:
        """Begins a transaction, in which partition 0 of the position topic takes part from the start. Raises
        SinkUnavailable also where the last one was left without an end."""
        ...

    def send(self, topic: Topic, partition: int, records: list[Record]) -> None:
        """Hands records of one partition over, in order; blocks while the window is full."""
        ...

    def send_plain(self, topic: Topic, key: bytes, value: bytes) -> None:
        """One record without headers to partition 0."""
        ...

    def push(self, *, more: bool = False) -> None:
        """What was handed over leaves now. more: a little may wait for the next push."""
        ...

    def commit(self, timeout: float) -> None:
        """Commits the open transaction. Raises SinkUnavailable when the outcome is unknown after `timeout` seconds."""
        ...

    def abort(self, timeout: float) -> None:
        """Aborts the open transaction, for at most `timeout` seconds; what fails then is left to the broker."""
        ...

    def close(self, timeout: float) -> None:
        """Drops everything that is not sent. Never raises, returns within about `timeout` seconds."""
        ...
