"""A producer that calls `KafkaProducer.send` of kafka-python for each record, for comparison in tests.

Weaker in one point: when a batch fails, the library may already have sent a later one of the same partition. Inside a
transaction that does not matter; with at_least_once a consumer may see the later one first, marked as a duplicate by
its headers when it comes again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from kafka import KafkaProducer
from kafka.errors import KafkaError, KafkaTimeoutError

from replicator.kafka.producer import Producer
from replicator.model.batch import Record
from replicator.sink.kafka.errors import refused_size, translate, translating
from replicator.sink.kafka.hanging_transactions import HangingTransactions
from replicator.sink.kafka.records import Stamp, encode
from replicator.sink.kafka.topic import Topic
from replicator.sink.kafka.window import Window


class RecordProducer:
    """A `producer_port.ProducerPort` over the client's own `send`.

    Args:
        connect: makes the library's producer, which connects.
        ours: a producer of ours for the same transactional id, which ends hanging transactions before.
    """

    def __init__(
        self,
        connect: Callable[[], KafkaProducer],
        ours: Producer,
        stamp: Stamp,
        window: Window,
        guard: Callable[[], None],
        seconds: float,
    ) -> None:
        self._ours = ours
        self._stamp = stamp
        self._window = window
        self._guard = guard
        self._seconds = seconds
        self._committed = False
        self._producer = connect()

    def init_transactions(self, hanging: HangingTransactions) -> None:
        with translating("the transactional producer could not be set up"):
            self._ours.identify(self._seconds)
            hanging.settle(self._ours)
            self._ours.close(self._seconds)
            self._producer.init_transactions()

    def know(self, topic: Topic) -> None:
        with translating(f"the partitions of '{topic.name}' could not be read"):
            self._producer.partitions_for(topic.name)

    def begin(self, position: Topic, hanging: HangingTransactions) -> None:
        """The library does not tell whether the coordinator was away, so the brokers are asked each time."""
        if self._committed:
            hanging.refuse()
        with translating("a transaction could not begin"):
            self._producer.begin_transaction()

    def send(self, topic: Topic, partition: int, records: list[Record]) -> None:
        for record in records:
            size = sum(len(body) for _, body in encode((record,), self._stamp, topic.batch_bytes, topic.record_bytes))
            self._send(topic, partition, record[1], record[2], self._stamp.headers(record), size, record)

    def send_plain(self, topic: Topic, key: bytes, value: bytes) -> None:
        self._send(topic, 0, key, value, [], len(key) + len(value), None)

    def push(self, *, more: bool = False) -> None:
        """The client's `send` has told its sender thread."""

    def _send(
        self,
        topic: Topic,
        partition: int,
        key: bytes | None,
        value: bytes | None,
        headers: list[tuple[str, bytes]],
        size: int,
        record: Record | None,
    ) -> None:
        self._guard()
        number = self._window.admit(size)
        try:
            future = self._producer.send(topic.name, value=value, key=key, headers=headers, partition=partition)
        except (KafkaError, ValueError) as error:
            cause = error if isinstance(error, KafkaError) else KafkaError(str(error))
            self._window.done(number, refused_size(cause, topic, size, record) or translate(cause, "a send failed"))
            self._window.acknowledged()
            return
        future.add_callback(lambda _: self._window.done(number))
        future.add_errback(
            lambda cause: self._window.done(
                number, refused_size(cause, topic, size, record) or translate(cause, "a send failed")
            )
        )

    def commit(self, timeout: float) -> None:
        error = _bounded(self._producer.commit_transaction, timeout)
        if error is not None:
            raise translate(error, "the outcome of a commit is unknown") from error
        self._committed = True

    def abort(self, timeout: float) -> None:
        _bounded(self._producer.abort_transaction, timeout)

    def close(self, timeout: float) -> None:
        self._ours.close(timeout)
        _bounded(lambda: self._producer.close(timeout=timeout), timeout + 1)


def _bounded(call: Callable[[], None], timeout: float) -> KafkaError | None:
    """Runs what may block for ever in a thread of its own. Returns what it raised, or a timeout."""
    caught: list[KafkaError] = []

    def run() -> None:
        try:
            call()
        except KafkaError as error:
            caught.append(error)

    thread = threading.Thread(target=run, name="kafka-bounded", daemon=True)
    thread.start()
    thread.join(timeout)
    if thread.is_alive():
        return KafkaTimeoutError(f"no answer within {timeout:.0f} s")
    return caught[0] if caught else None
