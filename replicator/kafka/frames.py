"""Frames of Kafka's protocol: a length of four bytes, then a request or a reply."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from replicator.kafka.failure import ConnectionFailure

MOST_BYTES: Final = 100_000_000
"""Of a reply, as in the Java client's `socket.request.max.bytes` and kafka-python: more is no reply of a broker's."""
LEAST_BYTES: Final = 4
"""A reply begins with its correlation id."""

_LENGTH: Final = struct.Struct(">i")
_HEADER: Final = struct.Struct(">ihhih")  # length, key, version, correlation id, length of the client id


def request_header(
    key: int, version: int, correlation: int, client_id: bytes, body_bytes: int, *, flexible: bool
) -> bytes:
    """Length and request header (version 2 with no tagged fields when `flexible`, else 1) of a request whose body has
    `body_bytes`."""
    size = _HEADER.size - _LENGTH.size + len(client_id) + body_bytes
    if flexible:
        return _HEADER.pack(size + 1, key, version, correlation, len(client_id)) + client_id + b"\0"
    return _HEADER.pack(size, key, version, correlation, len(client_id)) + client_id


class Frames:
    """Splits what a broker sends into replies, however the network cuts it."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._any = False

    def feed(self, data: bytes | bytearray | memoryview) -> Iterator[memoryview]:
        """The frames that are complete now, without their lengths. To be exhausted before the next call.

        Raises:
            ConnectionFailure: of kind "protocol", behind the frames before the fault.
        """
        self._data += data
        at = 0
        try:
            while len(self._data) - at >= _LENGTH.size:
                (size,) = _LENGTH.unpack_from(self._data, at)
                if not LEAST_BYTES <= size <= MOST_BYTES:
                    raise self._no_reply(at)
                end = at + _LENGTH.size + size
                if len(self._data) < end:
                    break
                frame = memoryview(bytes(self._data[at + _LENGTH.size : end]))
                at, self._any = end, True
                yield frame
        finally:
            del self._data[:at]

    def _no_reply(self, at: int) -> ConnectionFailure:
        start = bytes(self._data[at : at + 4])
        if not self._any and start[:2] in (b"\x15\x03", b"\x16\x03"):
            return ConnectionFailure("tls", "the listener accepts only encrypted connections", final=True)
        if not self._any and start.isascii() and start.decode().isprintable():
            return ConnectionFailure("protocol", f"not a Kafka broker: it answers with {start.decode()!r}", final=True)
        return ConnectionFailure("protocol", f"the answer is not a Kafka reply: it begins with {start.hex()}")
