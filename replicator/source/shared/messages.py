"""What a relay and its readers say to each other, one datagram each."""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec

from replicator.model.decoding import from_json

HELLO_BYTES: Final = 4096


class Hello(msgspec.Struct, frozen=True):
    """Relay -> reader, with the descriptor of the memory. key: what the relay reads, see `sharing.key`."""

    key: str
    slot: int
    size: int


class Where(msgspec.Struct, frozen=True):
    """Reader -> relay: I am behind the event that ends here. Where does the ring have this place? created: see
    `EventWalk`."""

    file: str
    offset: int
    created: int


class Place(msgspec.Struct, frozen=True):
    """Relay -> reader: byte `at` of the stream is `offset` of that file, the last known place not behind the asked
    one. at = -1: it is not in the ring; `wait`: not yet."""

    at: int = -1
    offset: int = 0
    wait: bool = False


T = TypeVar("T", Hello, Where, Place)


def encode(message: Hello | Where | Place) -> bytes:
    return msgspec.json.encode(message)


def decode(data: bytes, kind: type[T]) -> T:
    return from_json(data, kind)
