"""Requests in pieces are those that the library would have written."""

from __future__ import annotations

import io
from collections import deque
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.net.connection import KafkaConnection
from kafka.net.transport import KafkaTCPTransport
from kafka.protocol.metadata import MetadataRequest
from kafka.protocol.parser import KafkaProtocol
from kafka.protocol.producer import ProduceRequest

from replicator.sink.kafka import requests
from replicator.sink.kafka.records import BATCH_OVERHEAD
from replicator.sink.kafka.requests import VERSION, PiecewiseProtocol, adopt, framed, pieces

names = st.text(min_size=1, max_size=30) | st.sampled_from(["a" * 126, "a" * 127, "a" * 249, "名" * 200])
bodies = st.binary(max_size=40) | st.sampled_from([1 << 7, 1 << 14, 1 << 15, 70_000]).map(bytes)
topics = st.lists(st.tuples(names, st.lists(st.tuples(st.integers(0, 1 << 20), bodies), min_size=1, max_size=4)))
transactions = st.none() | names


def request(transaction: str | None, given: list[tuple[str, list[tuple[int, bytes]]]], frame: Any = framed) -> Any:
    topic, partition = ProduceRequest.TopicProduceData, ProduceRequest.TopicProduceData.PartitionProduceData
    data = [
        topic(name=name, partition_data=[partition(index=index, records=frame(body)) for index, body in places])
        for name, places in given
    ]
    made = ProduceRequest(transactional_id=transaction, acks=-1, timeout_ms=10_000, topic_data=data, max_version=9)
    made.API_VERSION = requests.VERSION
    return made


def written(made: Any) -> bytes:
    made.with_header(correlation_id=77, client_id="us")
    return bytes(made.encode(framed=True, header=True))


@given(transactions, topics)
def test_the_same_bytes(transaction: str | None, given: list[tuple[str, list[tuple[int, bytes]]]]) -> None:
    made = request(transaction, given)
    wanted = written(made)
    for _ in range(2):  # a batch that has to leave again does so in another request
        found = pieces(made)
        assert found is None if not given else b"".join(found or []) == wanted


def test_large_batches_leave_from_their_own_memory() -> None:
    body = bytes(1 << 20)
    made = request("t", [("orders", [(0, body), (1, body), (2, b"small")])])
    wanted = written(made)
    found = pieces(made) or []
    assert [len(piece) > 1 << 20 for piece in found] == [True, True, False]
    for piece, place in zip(found, made.topic_data[0].partition_data, strict=False):
        assert isinstance(piece, memoryview)
        assert piece.obj is place.records.obj
    assert b"".join(found) == wanted


@pytest.mark.parametrize("records", [b"bytes", memoryview(bytearray(600)), memoryview(bytearray(700))[100:]])
def test_what_has_no_frame_is_left_to_the_library(records: Any) -> None:
    made = request("t", [("orders", [(0, b"")])], lambda _: records)
    wanted = written(made)
    assert pieces(made) is None
    protocol, transport = adopted()
    protocol._correlation_id = 76
    assert protocol.send_request(made) == 77
    transport.write(protocol.send_bytes())
    assert transport.said() == wanted


class Transport:
    """As far as a connection writes to one."""

    def __init__(self) -> None:
        self.buffer: deque[Any] = deque()

    def writelines(self, several: Any) -> None:
        KafkaTCPTransport.writelines(self, several)

    def write(self, data: Any) -> None:
        self.buffer.append(data)

    def said(self) -> bytes:
        return b"".join(self.buffer)


Transport._write, Transport._closed, Transport._writing = True, False, True  # type: ignore[attr-defined]
Transport._write_buffer = property(lambda self: self.buffer)  # type: ignore[attr-defined]


def adopted() -> tuple[Any, Transport]:
    connection = KafkaConnection(None)
    connection.parser, connection.transport = KafkaProtocol(client_id="us"), Transport()
    adopt(connection, None)
    assert type(connection.parser) is KafkaProtocol  # not connected yet
    connection.connected = True
    adopt(connection, None)
    adopt(connection, None)
    assert type(connection.parser) is PiecewiseProtocol
    return connection.parser, connection.transport


def test_a_connection_agrees_on_a_version_once() -> None:
    """What the library finds out for the first request is said of the next ones; of ours, and on that connection."""
    connection = KafkaConnection(None)
    connection.parser, connection.transport, connection.connected = KafkaProtocol(client_id="us"), Transport(), True
    given = [("orders", [(0, b"rows")])]

    def next_one(agreed: int) -> Any:
        made = request("t", given)
        made._version = None
        adopt(connection, made)
        found, made.API_VERSION = made.API_VERSION, agreed
        connection.parser.send_request(made)
        return found

    assert [next_one(8), next_one(8), next_one(VERSION), next_one(VERSION)] == [None, None, None, VERSION]
    other = MetadataRequest()
    adopt(connection, other)
    assert other.API_VERSION is None
    adopt(None, other)
    connection.parser = KafkaProtocol(client_id="us")
    assert next_one(VERSION) is None


def test_requests_of_both_kinds_in_order_and_answers_to_them() -> None:
    """Also those that wait together while the connection is paused."""
    protocol, transport = adopted()
    plain = KafkaProtocol(client_id="us")
    wanted = b""
    for number in range(3):
        for kind in (request("t", [("orders", [(number, bytes(20_000)), (9, b"x")])]), MetadataRequest[5]()):
            assert protocol.send_request(kind) == plain.send_request(kind)
            wanted += plain.send_bytes()
            if number:
                transport.write(protocol.send_bytes())
    assert transport.said() == wanted
    assert [each.correlation_id for each in protocol.in_flight_requests] == [1, 2, 3, 4, 5, 6]
    assert protocol.in_flight_requests[0].get_response_class() is not None


def test_a_request_for_another_version_is_the_librarys() -> None:
    protocol, transport = adopted()
    made = request("t", [("orders", [(0, b"rows")])])
    made.API_VERSION = 8
    protocol.send_request(made)
    transport.write(protocol.send_bytes())
    made.with_header(correlation_id=1, client_id="us")
    assert transport.said() == made.encode(framed=True, header=True)


def test_room_for_the_header() -> None:
    batch = framed(b"rows")
    assert len(batch) == BATCH_OVERHEAD + 4
    assert io.BytesIO(batch[BATCH_OVERHEAD:]).read() == b"rows"
