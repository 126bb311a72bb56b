"""Produce requests that leave from the memory of their batches.

kafka-python writes a request by copying its batches into a buffer, and the buffer into another: for each row as much
work as its checksum, and megabytes that wait for the socket. So every batch keeps room around itself. What a request
says in front of a batch, and in the end, is written there, and the socket is given the batches' own memory.

What is left is the library's: versions, correlation, time-outs, answers. A request of another version than `VERSION`,
or with batches that are not in a frame, is written by the library.
"""

from __future__ import annotations

import struct
from typing import Any, Final, TypeAlias

from kafka.net.connection import KafkaConnection
from kafka.protocol.parser import KafkaProtocol
from kafka.protocol.producer import ProduceRequest

from replicator.sink.kafka.records import BATCH_OVERHEAD, unsigned
from replicator.sink.kafka.transports import hasten

VERSION: Final = 9
"""Of Produce requests: the first with compact fields, and the highest that the library's sender asks for."""

FRONT: Final = 512
"""Bytes in front of a batch: headers, names of the transaction and of a topic. Longer names leave by themselves."""

BEHIND: Final = 3
"""Bytes behind a batch: the request ends with them."""

_HEADER: Final = struct.Struct(">hhih")
_NO_TAGS: Final = b"\0"
_SMALL: Final = 16 << 10  # smaller pieces leave with their neighbours: a piece is a packet of its own

Bytes: TypeAlias = bytes | bytearray | memoryview


def framed(records: Bytes) -> memoryview:
    """A batch in its frame: room for its header, then the records."""
    frame = bytearray(FRONT + BATCH_OVERHEAD + len(records) + BEHIND)
    frame[FRONT + BATCH_OVERHEAD : -BEHIND] = records
    return inside(frame)


def inside(frame: Any) -> memoryview:
    """The batch of a frame. frame: writable, `FRONT` and `BEHIND` bytes around the batch. The view knows its frame."""
    return memoryview(frame)[FRONT:-BEHIND]


def pieces(request: Any) -> list[Bytes] | None:
    """A request with its header, framed for the socket, in pieces that leave one behind the other; None when batches
    are not in frames. They are the batches' memory: it may not be changed until the request has left."""
    head = bytearray(4)  # the length, in the end
    head += _header(request.header)
    head += text(request.transactional_id) + struct.pack(">hi", request.acks, request.timeout_ms)
    head += unsigned(len(request.topic_data) + 1)
    found: list[Bytes] = []
    end = 0
    for topic in request.topic_data:
        head += text(topic.name) + unsigned(len(topic.partition_data) + 1)
        for place in topic.partition_data:
            batch = place.records
            frame = memoryview(getattr(batch, "obj", b""))
            if len(frame) != FRONT + len(batch) + BEHIND:
                return None
            head += struct.pack(">i", place.index) + unsigned(len(batch) + 1)
            if len(head) > FRONT:
                found.append(head)
                head = bytearray()
            start, end = FRONT - len(head), FRONT + len(batch)
            frame[start:FRONT] = head
            found.append(frame[start:end])
            head = bytearray(_NO_TAGS)
        head += _NO_TAGS
    head += _NO_TAGS
    if not found or len(head) != BEHIND:
        return None
    frame[end:] = head
    found[-1] = frame[start:]
    struct.pack_into(">i", found[0], 0, sum(map(len, found)) - 4)
    return _together(found)


def _header(header: Any) -> bytes:
    """Request header v2, byte for byte what the library's `encode_header` gives: that takes some forty calls."""
    client: bytes = header.client_id.encode()
    fixed = _HEADER.pack(header.request_api_key, header.request_api_version, header.correlation_id, len(client))
    return fixed + client + _NO_TAGS


def text(given: str | None) -> bytes:
    """A compact string: its length in UTF-8 and one more as varint, then that."""
    if given is None:
        return b"\0"
    data = given.encode()
    return unsigned(len(data) + 1) + data


def _together(given: list[Bytes]) -> list[Bytes]:
    """Small neighbours in one piece."""
    made: list[Bytes] = []
    for piece in given:
        if made and len(made[-1]) < _SMALL and len(piece) < _SMALL:
            made[-1] = b"".join((made[-1], piece))
        else:
            made.append(piece)
    return made


class PiecewiseProtocol(KafkaProtocol):  # type: ignore[misc]
    """What a connection becomes by `adopt`."""

    transport: Any
    bytes_to_send: list[Bytes]
    agreed: int | None = None  # the version that the library found for this broker, once it is ours
    _correlation_id: int

    def send_request(self, request: Any, correlation_id: int | None = None) -> Any:
        if not isinstance(request, ProduceRequest) or request.API_VERSION != VERSION or correlation_id is not None:
            return super().send_request(request, correlation_id)
        self.agreed = VERSION
        correlation_id = (self._correlation_id + 1) % 2**31
        request.with_header(correlation_id=correlation_id, client_id=self._client_id)
        made = pieces(request)
        if made is None:
            return super().send_request(request)
        self._correlation_id = correlation_id
        self.bytes_to_send += made
        if request.expect_response():
            self.in_flight_requests.append(request.header)
        return correlation_id

    def send_bytes(self) -> Any:
        """The last piece, which the caller writes. Those before it are written here."""
        if len(self.bytes_to_send) < 2:
            return super().send_bytes()
        *first, last = self.bytes_to_send
        self.bytes_to_send = []
        self.transport.writelines(first)
        return last


def adopt(connection: KafkaConnection | None, request: Any) -> None:
    """From now on its Produce requests leave in pieces; `request` is the next one. Nothing happens while it is not
    connected."""
    if connection is None or not connection.connected:
        return
    parser = connection.parser
    if type(parser) is KafkaProtocol:
        parser.__class__ = PiecewiseProtocol
        parser.transport = connection.transport
        hasten(connection.transport)
    elif type(parser) is PiecewiseProtocol and parser.agreed is not None and isinstance(request, ProduceRequest):
        request.API_VERSION = parser.agreed
