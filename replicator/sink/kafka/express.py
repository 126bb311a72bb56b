"""The short way of a batch that is alone: from whoever hands it over to the socket.

A step of kafka-python's sender looks at everything there may be to do; some 330 calls, which take a quarter of a
millisecond where they are made once in ten. Where nothing else is to be done, the few of them that this batch is about
are made here, one after the other, and leave everything as the step would have left it: whose sequence number is next,
what is on its way, when that has taken too long, and who is told.

Not for transactions: they begin and end with questions to the broker.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator
from functools import partial
from heapq import heappush
from typing import Any, Final

from kafka.future import Future
from kafka.producer.producer_batch import ProducerBatch
from kafka.producer.transaction_manager import TransactionState
from kafka.protocol.producer import ProduceRequest, ProduceResponse
from kafka.structs import TopicPartition

from replicator.sink.kafka.in_flight import InFlight
from replicator.sink.kafka.records import unsigned
from replicator.sink.kafka.requests import BEHIND, FRONT, VERSION, PiecewiseProtocol, text
from replicator.sink.kafka.transports import EagerTransport

_FIXED: Final = struct.Struct(">ihhi")
"""Length of what follows, type, version, correlation id."""

_LONGEST: Final = FRONT - _FIXED.size - 5
"""Bytes of what comes then: the batch's length behind it takes five at most."""

_KEY: Final[int] = ProduceRequest.API_KEY
_RESPONSE: Final = ProduceResponse[VERSION]
_SEQUENCES: Final = 1 << 31
"""Numbers of records in a partition begin again behind this one."""

_END: Final = b"\0" * BEHIND


class Express:
    """
    Args:
        sender: the library's.
        in_flight: which partitions must wait.
        may_leave: asked for each batch; where it refuses, the sender says why.
    """

    def __init__(self, sender: Any, in_flight: InFlight, may_leave: Callable[[TopicPartition], bool]) -> None:
        self._sender = sender
        self._accumulator = sender._accumulator
        self._manager = sender._transaction_manager
        self._connections = sender._client._manager._conns
        self._net = sender._client._net
        self._leader = sender._metadata.leader_for_partition
        self._in_flight = in_flight
        self._may_leave = may_leave
        self._possible = not self._manager.is_transactional() and not sender._sensors
        self._middles: dict[TopicPartition, bytes] = {}

    def send(self, batch: ProducerBatch) -> bool:
        """In a step of ours. False, and nothing done, where not everything is as it usually is."""
        place = batch.topic_partition
        waiting = self._accumulator._batches
        if not self._possible or len(waiting) != 1 or list(waiting.get(place, ())) != [batch]:
            return False
        node = self._leader(place)
        connection = self._connections.get(node)
        if connection is None or not self._ordinary(connection) or place in self._in_flight:
            return False
        middle = self._middle(place, connection.parser._client_id)
        if len(middle) > _LONGEST or not self._may_leave(place):
            return False
        del waiting[place]
        now = time.monotonic()
        self._number(batch, place, now)
        heappush(self._sender._in_flight_batches[place], (batch.created, batch))
        self._in_flight.add(place)
        self._write(batch, middle, connection, node, now)
        return True

    def _ordinary(self, connection: Any) -> bool:
        manager = self._manager
        return (
            manager._current_state is TransactionState.READY
            and not manager._pending_requests
            and not manager.has_in_flight_transactional_request()
            and manager.has_producer_id()
            and not self._sender._topics_to_add
            and connection.connected
            and not connection.paused
            and not connection.initializing
            and not connection._reauth.is_reauthenticating
            and type(connection.parser) is PiecewiseProtocol
            and connection.parser.agreed == VERSION
            and not connection.parser.bytes_to_send
            and isinstance(connection.transport, EagerTransport)
            and len(connection.in_flight_requests) + 1 < connection.config["max_in_flight_requests_per_connection"]
        )

    def _number(self, batch: ProducerBatch, place: TopicPartition, now: float) -> None:
        """As `RecordAccumulator.drain_batches_for_one_node` does where a batch leaves for the first time."""
        producer, sequences, records = (
            self._manager.producer_id_and_epoch,
            self._manager._sequence_numbers,
            batch.records,
        )
        sequence = sequences[place]
        records.set_producer_state(producer.producer_id, producer.epoch, sequence, False)
        sequences[place] = (sequence + records.next_offset()) % _SEQUENCES
        records.close()
        batch.drained = now

    def _write(self, batch: ProducerBatch, middle: bytes, connection: Any, node: Any, now: float) -> None:
        """As `KafkaConnection._send_request` does, and its callers."""
        parser, future = connection.parser, Future()
        future._callbacks.append(partial(self._sender._handle_produce_response, node, now, [batch]))
        future._errbacks.append(partial(self._sender._failed_produce, [batch], node))
        number = parser._next_correlation_id()
        timeout_at = connection._timeout_at(now=now)
        task = self._net.call_at(timeout_at, _overdue(connection, future, now, timeout_at))
        connection.in_flight_requests.append((number, future, now, timeout_at, task))
        parser.in_flight_requests.append(_Header(number))
        connection.transport.write(_request(batch.records.buffer(), middle, number))

    def _middle(self, place: TopicPartition, client_id: str) -> bytes:
        """Of a request, from the client's id to the partition's number."""
        middle = self._middles.get(place)
        if middle is None:
            client, config = client_id.encode(), self._sender.config
            said = struct.pack(
                f">h{len(client)}sxxhib", len(client), client, config["acks"], config["request_timeout_ms"], 2
            )
            middle = said + text(place.topic) + struct.pack(">bi", 2, place.partition)
            self._middles[place] = middle
        return middle


def _request(records: memoryview, middle: bytes, number: int) -> memoryview:
    """Byte for byte what `requests.pieces` makes of a request with this one batch, in the batch's own frame."""
    size = len(records)
    head = middle + unsigned(size + 1)
    start = FRONT - _FIXED.size - len(head)
    frame = memoryview(records.obj)
    _FIXED.pack_into(frame, start, len(frame) - start - 4, _KEY, VERSION, number)
    frame[start + _FIXED.size : FRONT] = head
    frame[FRONT + size :] = _END
    return frame[start:]


class _Header:
    """What a connection asks of a request's header when the answer comes."""

    __slots__ = ("correlation_id",)

    request_api_key = api_key = _KEY
    request_api_version = api_version = VERSION

    def __init__(self, correlation_id: int) -> None:
        self.correlation_id = correlation_id

    def get_response_class(self) -> Any:
        return _RESPONSE


def _overdue(connection: Any, future: Future, sent_at: float, timeout_at: float) -> Iterator[None]:
    """The library's own timer, without the six questions of what kind of function it is."""
    yield connection._request_timed_out(future, sent_at, timeout_at)
