"""Whole record batches through kafka-python's own sender. What touches the library's internals is here, and in
`requests.py`, `prebuilt.py`, `turns.py`, `express.py`, `transports.py` and `waiting.py`, which only this file puts to
use.

`KafkaProducer.send` costs 15-25 microseconds a record; a whole prebuilt batch in the accumulator costs the same as one
record. The library's sender keeps what is hard: sequence numbers, retries in order, metadata, transactions.
Written against 3.0.x; `fit.py` compares every name and signature used here with what is installed, and the sinks fall
back to `plain.py` when they differ.

Nine of the library's decisions are changed, each because of what it costs us:
- The first failed batch puts the producer into its fatal state, inside the sender thread and so before any later batch
  can leave. The library would go on with later batches (after OUT_OF_ORDER_SEQUENCE, an expired batch, ...): a gap.
- No batch leaves after the lease is over, also when it waited in the accumulator: the guard is asked at that moment.
- While a batch is unfinished, and shortly after, the sender sleeps for `_NAP_MS` at most. The library lets it sleep
  until the batch expires where the partition's leader is unknown, and then only luck wakes it: an outage of 2 s
  sometimes cost 30 s.
- Batches are not split on MESSAGE_TOO_LARGE: the library would complete the halves, never our whole.
- Several batches of a partition are on their way at once (`in_flight.py`), and those that have to leave again do so in
  their first order. The library puts the last one that failed in front.
- Requests leave from the batches' own memory (`requests.py`). The library copies them, twice.
- What can leave is sent by the thread that hands it over (`turns.py`), at once (`transports.py`). The library wakes its
  sender, whose loop comes around four times before the request is on its way.
- A batch that comes alone leaves without a step (`express.py`). The library's looks for whatever there may be to do.
- The sender looks at the partitions that have something to send (`waiting.py`). The library's looks at all there are.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from kafka import KafkaProducer
from kafka.errors import IllegalStateError, KafkaError, KafkaTimeoutError, OutOfOrderSequenceNumberError, RetriableError
from kafka.producer.producer_batch import ProducerBatch
from kafka.structs import TopicPartition

from replicator.errors import ReplicatorError
from replicator.model.batch import Record
from replicator.sink.kafka.compression import Codec
from replicator.sink.kafka.errors import refused_size, translate
from replicator.sink.kafka.express import Express
from replicator.sink.kafka.feed import Body
from replicator.sink.kafka.in_flight import InFlight
from replicator.sink.kafka.prebuilt import Prebuilt, compressed
from replicator.sink.kafka.records import Stamp, encode, encode_plain
from replicator.sink.kafka.requests import adopt, framed, inside
from replicator.sink.kafka.topic import Topic
from replicator.sink.kafka.turns import Turns
from replicator.sink.kafka.waiting import Waiting
from replicator.sink.kafka.window import Window

Single: TypeAlias = Record | Callable[[], Record] | None
"""The only record of a batch, for a broker's refusal of its size."""

_NAP_MS = 100
_BUSY_SECONDS = 1.0
"""After the last batch the sender still naps: the next one then need not wake it for the sake of its timers."""


class BulkFeed:
    """A `feed.Feed` that hands over whole batches.

    Args:
        producer: connected, freshly made; closed by `close`.
        guard: raises when nothing may be emitted any more; also called in the sender thread.
        codec: compresses the batches of records; None: they leave as they are.
    """

    def __init__(
        self,
        producer: KafkaProducer,
        stamp: Stamp,
        window: Window,
        guard: Callable[[], None],
        codec: Codec | None = None,
    ) -> None:
        self._producer = producer
        self._stamp = stamp
        self._window = window
        self._guard = guard
        self._codec = codec
        self._accumulator: Any = producer._accumulator
        self._sender: Any = producer._sender
        self._metadata: Any = producer._metadata
        self._manager: Any = producer._transaction_manager
        self._transactional: bool = self._manager.is_transactional()
        self._ending = False
        self._waiting = False  # batches are in the accumulator of which the sender thread has not been told
        self._allowed = self._manager.is_send_to_partition_allowed
        self._manager.is_send_to_partition_allowed = self._may_leave
        self._sender._can_split = lambda batch, error: False
        self._retriable = self._sender._can_retry
        self._sender._can_retry = self._may_retry
        self._accumulator.reenqueue = self._reenqueue
        self._in_flight = self._accumulator.muted = InFlight(self._requests)
        Waiting(self._accumulator, self._metadata)
        self._busy_until = 0.0
        self._turns = Turns(self._sender)
        self._express = Express(self._sender, self._in_flight, self._may_leave)
        self._alone: ProducerBatch | None = None  # all that was handed over since the last `pushed`
        self._poll = self._sender._client.poll
        self._sender._client.poll = self._nap
        self._send = self._sender._client.send
        self._sender._client.send = self._adopt_and_send

    def _nap(self, timeout_ms: float | None = None, future: Any = None) -> Any:
        """In the sender thread, which waits here for whatever comes. In ours, which does not."""
        if self._turns.ours:
            return None
        now = time.monotonic()
        if self._accumulator.has_incomplete:
            self._busy_until = now + _BUSY_SECONDS
        if future is None and timeout_ms is not None and now < self._busy_until:
            timeout_ms = min(timeout_ms, _NAP_MS)
        return self._poll(timeout_ms=timeout_ms, future=future)

    def _adopt_and_send(self, node: Any, request: Any, **options: Any) -> Any:
        adopt(self._sender._client._manager._conns.get(node), request)
        return self._send(node, request, **options)

    def _requests(self, place: TopicPartition) -> int:
        """Those that wait for an answer of the partition's leader; of all brokers while that is not known."""
        count: int = self._sender._client.in_flight_request_count(self._metadata.leader_for_partition(place))
        return count

    def _may_retry(self, batch: ProducerBatch, error: type[BaseException]) -> bool:
        """Also one that was refused for the lack of an earlier one, which waits to leave again."""
        if error is OutOfOrderSequenceNumberError:
            waiting = self._accumulator._batches[batch.topic_partition]
            if waiting and waiting[0].records.number < batch.records.number:
                error = RetriableError
        found: bool = self._retriable(batch, error)
        return found

    def _reenqueue(self, batch: ProducerBatch, now: float | None = None) -> None:
        """Among those that wait, in the order in which they came to us."""
        place = batch.topic_partition
        self._in_flight.repeat(place)
        batch.retry(now=now)
        with self._accumulator._tp_lock(place):
            waiting = self._accumulator._batches[place]
            behind = (index for index, each in enumerate(waiting) if each.records.number > batch.records.number)
            waiting.insert(next(behind, len(waiting)), batch)

    def begin(self, topic: Topic) -> None:
        try:
            self._producer.begin_transaction()
            # Here already, so that the first request for partitions of the transaction names them all.
            self._manager.maybe_add_partition_to_transaction(TopicPartition(topic.name, 0))
        except KafkaError as error:
            raise translate(error, "a transaction could not begin") from error

    def send(self, topic: Topic, partition: int, records: list[Record]) -> None:
        place = TopicPartition(topic.name, partition)
        first = 0
        for count, body in encode(records, self._stamp, topic.batch_bytes, topic.record_bytes):
            self._hand_over(topic, place, count, framed(body), records[first] if count == 1 else None)
            first += count

    def send_body(self, topic: Topic, partition: int, body: Body) -> None:
        self._hand_over(topic, TopicPartition(topic.name, partition), body.count, inside(body), body.record)

    def pushed(self) -> None:
        if self._waiting:
            self._waiting = False
            alone, self._alone = self._alone, None
            self._turns.take(None if alone is None else partial(self._express.send, alone))

    def send_plain(self, topic: Topic, key: bytes, value: bytes) -> None:
        self._hand_over(topic, TopicPartition(topic.name, 0), 1, framed(encode_plain(key, value)), None)
        self.pushed()

    def _hand_over(self, topic: Topic, place: TopicPartition, count: int, room: memoryview, single: Single) -> None:
        self._guard()
        code = 0
        if self._codec is not None:
            room, code = compressed(room, self._codec)
        size = len(room)
        if self._waiting and not self._window.fits(size):
            self.pushed()  # what is waited for has to leave first
        number = self._window.admit(size)
        batch = ProducerBatch(place, Prebuilt(count, room, time.time_ns() // 1_000_000, code, number=number))
        batch.produce_future.add_callback(self._finished, number, place, topic, size, single)
        try:
            if self._transactional:
                self._manager.maybe_add_partition_to_transaction(place)
            self._append(place, batch)
        except KafkaError as error:
            self._window.done(number, translate(error, f"a batch for '{topic.name}' was refused"))
            self._window.acknowledged()  # raises the first failure, which may be an older one
        self._alone = None if self._waiting else batch
        self._waiting = True

    def _append(self, place: TopicPartition, batch: ProducerBatch) -> None:
        accumulator = self._accumulator
        accumulator._appends_in_progress.increment()
        try:
            with accumulator._tp_lock(place):
                if accumulator._closed:
                    raise IllegalStateError("the producer is closed")
                accumulator._batches[place].append(batch)
                accumulator._incomplete.add(batch)
        finally:
            accumulator._appends_in_progress.decrement()

    def _finished(
        self, number: int, place: TopicPartition, topic: Topic, size: int, single: Single, result: tuple[Any, ...]
    ) -> None:
        """In the sender thread. The future always succeeds; a failure is a function in its third place."""
        errors = result[2]
        if errors is None:
            self._in_flight.acknowledged(place)
            self._window.done(number)
            return
        cause = errors(0)
        if not self._ending:
            self._manager.transition_to_fatal_error(cause)
        record = single() if callable(single) else single
        self._window.done(number, refused_size(cause, topic, size, record) or translate(cause, "a batch failed"))

    def _may_leave(self, place: TopicPartition) -> bool:
        """In the sender thread, before each batch that leaves."""
        if not self._allowed(place):
            return False
        try:
            self._guard()
        except ReplicatorError as error:
            self._manager.transition_to_fatal_error(error)
            return False
        return True

    def commit(self, timeout: float) -> None:
        try:
            result = self._manager.begin_commit()
            self._turns.take()
            if not result.wait(timeout_ms=timeout * 1000):
                raise KafkaTimeoutError(f"no answer to a commit within {timeout:.0f} s")
        except KafkaError as error:
            raise translate(error, "the outcome of a commit is unknown") from error

    def abort(self, timeout: float) -> None:
        self._ending = True
        with contextlib.suppress(KafkaError):
            result = self._manager.begin_abort()
            self._sender.wakeup()
            result.wait(timeout_ms=timeout * 1000)

    def close(self, timeout: float) -> None:
        self._ending = True
        discard(self._producer, timeout)


def discard(producer: KafkaProducer, timeout: float) -> None:
    """Closes a producer without sending what it holds. KafkaProducer.close flushes first, and raises when it can't."""
    producer._sender.force_close()
    producer._sender.join(timeout)
    producer._unregister_cleanup()
    producer._closed = True
