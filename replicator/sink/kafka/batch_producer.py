"""Hands whole record batches to our own Kafka producer (`replicator.kafka`)."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeAlias

from kafka.errors import KafkaError

from replicator.errors import ReplicatorError
from replicator.kafka.batch import OVERHEAD, Batch
from replicator.kafka.producer import Producer
from replicator.model.batch import Record
from replicator.sink.kafka.compression import Codec
from replicator.sink.kafka.errors import refused_size, translate, translating
from replicator.sink.kafka.hanging_transactions import HangingTransactions
from replicator.sink.kafka.long_batches import compressed_long, pieces_of
from replicator.sink.kafka.producer_port import Body
from replicator.sink.kafka.records import Stamp, encode, encode_plain
from replicator.sink.kafka.topic import Topic
from replicator.sink.kafka.window import Window

Single: TypeAlias = Record | Callable[[], Record] | None
"""The only record of a batch, for a broker's refusal of its size."""

_LITTLE: Final = 64 << 10
"""Bytes that may wait for the end of their transaction: they then go with the position, in one request."""


class BatchProducer:
    """A `producer_port.ProducerPort` that hands over whole batches.

    Args:
        producer: connected; closed by `close`.
        guard: raises when nothing may be emitted any more.
        seconds: for which the cluster is waited for.
        codec: compresses the batches of records; None: they leave as they are.
    """

    def __init__(
        self,
        producer: Producer,
        stamp: Stamp,
        window: Window,
        guard: Callable[[], None],
        seconds: float,
        codec: Codec | None = None,
    ) -> None:
        self._producer = producer
        self._stamp = stamp
        self._window = window
        self._guard = guard
        self._seconds = seconds
        self._codec = codec
        self._held = 0  # bytes that were handed over and not pushed

    def init_transactions(self, hanging: HangingTransactions) -> None:
        with translating("the transactional producer could not be set up"):
            self._producer.identify(self._seconds)
        hanging.settle(self._producer)

    def know(self, topic: Topic) -> None:
        with translating(f"the partitions of '{topic.name}' could not be read"):
            self._producer.partitions(topic.name, self._seconds)

    def begin(self, position: Topic, hanging: HangingTransactions) -> None:
        if self._producer.coordinator_lost():
            hanging.refuse()
            self._producer.take_another()
        with translating("a transaction could not begin"):
            self._producer.begin()
        # Here already, so that the first request for partitions of the transaction names them all.
        self._producer.add((position.name, 0))

    def send(self, topic: Topic, partition: int, records: list[Record]) -> None:
        first = 0
        for count, body in encode(records, self._stamp, topic.batch_bytes, topic.record_bytes):
            self._hand_over(topic, partition, count, batch_of(body), records[first] if count == 1 else None)
            first += count

    def send_body(self, topic: Topic, partition: int, body: Body) -> None:
        value, code = body.value, 0
        if value is None:
            self._hand_over(topic, partition, body.count, memoryview(body), body.record)
            return
        self._guard()
        pieces = compressed_long(body, value, self._codec) if self._codec is not None else None
        if pieces is not None and self._codec is not None:
            code = self._codec.code
        self._admit(topic, partition, 1, pieces or pieces_of(body), body.record, code)

    def send_plain(self, topic: Topic, key: bytes, value: bytes) -> None:
        self._hand_over(topic, 0, 1, batch_of(encode_plain(key, value)), None)

    def push(self, *, more: bool = False) -> None:
        if self._held and not (more and self._held < _LITTLE):
            self._held = 0
            self._producer.push()

    def _hand_over(self, topic: Topic, partition: int, count: int, data: memoryview, single: Single) -> None:
        self._guard()
        code = 0
        if self._codec is not None:
            data, code = compressed(data, self._codec)
        self._admit(topic, partition, count, (data,), single, code)

    def _admit(
        self, topic: Topic, partition: int, count: int, pieces: Sequence[memoryview], single: Single, code: int
    ) -> None:
        size = sum(map(len, pieces))
        if self._held and not self._window.fits(size):
            self.push()  # what is waited for has to leave first
        number = self._window.admit(size)
        done = partial(self._finished, number, topic, size, single)
        self._held += size
        place = topic.name, partition
        now_ms = time.time_ns() // 1_000_000
        self._producer.append(Batch(place, pieces[0], count, now_ms, done, code, pieces[1:]))

    def _finished(self, number: int, topic: Topic, size: int, single: Single, cause: BaseException | None) -> None:
        """In whichever thread reads the reply."""
        error: ReplicatorError | None = None
        if cause is not None:
            record = single() if callable(single) else single
            error = refused_size(cause, topic, size, record) or translate(cause, "a batch failed")
        self._window.done(number, error)

    def commit(self, timeout: float) -> None:
        try:
            self._producer.end(timeout, commit=True)
        except KafkaError as error:
            raise translate(error, "the outcome of a commit is unknown") from error

    def abort(self, timeout: float) -> None:
        with contextlib.suppress(KafkaError, ReplicatorError):
            self._producer.end(timeout, commit=False)

    def close(self, timeout: float) -> None:
        self._producer.close(timeout)


def batch_of(records: bytes) -> memoryview:
    """Room for the header of a batch, and the records behind it."""
    data = bytearray(OVERHEAD + len(records))
    data[OVERHEAD:] = records
    return memoryview(data)


def compressed(batch: memoryview, codec: Codec) -> tuple[memoryview, int]:
    """The same batch with its records compressed, and the code of that; as it was, and 0, where that is not smaller."""
    records = batch[OVERHEAD:]
    smaller = codec.compress(records)
    return (batch_of(smaller), codec.code) if len(smaller) < len(records) else (batch, 0)
