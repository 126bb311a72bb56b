"""FindCoordinator: the broker that coordinates the transactions of a transactional id."""

from __future__ import annotations

from typing import Final, NamedTuple

from replicator.kafka import wire
from replicator.kafka.wire import Reader

KEY: Final = 10
VERSIONS: Final = (3, 6)
_SEVERAL: Final = 4  # first version that asks for several keys at once
_TRANSACTION: Final = b"\1"


class Coordinator(NamedTuple):
    throttle_ms: int
    error: int
    message: str
    node: int
    host: str
    port: int


def request(transactional_id: str, version: int) -> bytes:
    key = wire.compact_string(transactional_id)
    if version < _SEVERAL:
        return key + _TRANSACTION + wire.NO_TAGS
    return _TRANSACTION + wire.array_length(1) + key + wire.NO_TAGS


def reply(reader: Reader, version: int) -> Coordinator:
    throttle = reader.int32()
    if version < _SEVERAL:
        error, message = reader.int16(), reader.compact_string()
        node, host, port = reader.int32(), reader.compact_string(), reader.int32()
        reader.skip_tags()
        return Coordinator(throttle, error, message or "", node, host or "", port)
    found = reader.array(lambda: _coordinator(reader, throttle))
    reader.skip_tags()
    if len(found) != 1:
        raise wire.MalformedMessage(f"{len(found)} coordinators of one transactional id")
    return found[0]


def _coordinator(reader: Reader, throttle: int) -> Coordinator:
    reader.compact_string()  # key
    node, host, port = reader.int32(), reader.compact_string(), reader.int32()
    error, message = reader.int16(), reader.compact_string()
    reader.skip_tags()
    return Coordinator(throttle, error, message or "", node, host or "", port)
