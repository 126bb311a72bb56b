"""Records of topics as bytes of a stream: what a source of topics sends to the decoder.

A frame is of one record, or says where a partition continues where that does not follow from its last record. No frame
has fewer than 64 bytes, as no transaction of a binlog has.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

_HEAD: Final = struct.Struct(">IBiqHii")
_RECORD, _PLACE = 1, 2
_LEAST: Final = 64


class RecordFrame(NamedTuple):
    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None


class PlaceFrame(NamedTuple):
    """offset: of the next record of the partition; id: as `TopicOffsets.id`."""

    topic: str
    partition: int
    offset: int
    id: str


def record(topic: str, partition: int, offset: int, key: bytes | None, value: bytes | None) -> bytes:
    return _frame(_RECORD, topic, partition, offset, key, value)


def place(topic: str, partition: int, offset: int, identity: str) -> bytes:
    return _frame(_PLACE, topic, partition, offset, identity.encode(), None)


def _frame(kind: int, topic: str, partition: int, offset: int, key: bytes | None, value: bytes | None) -> bytes:
    name = topic.encode()
    size = _HEAD.size + len(name) + len(key or b"") + len(value or b"")
    padding = max(0, _LEAST - size)
    lengths = len(name), -1 if key is None else len(key), -1 if value is None else len(value)
    head = _HEAD.pack(size + padding, kind, partition, offset, *lengths)
    return b"".join((head, name, key or b"", value or b"", bytes(padding)))


def split(data: bytes | bytearray, at: int) -> tuple[RecordFrame | PlaceFrame, int] | None:
    """The frame that begins at `at`, and where it ends; None: it is not whole yet."""
    if len(data) - at < _HEAD.size:
        return None
    size, kind, partition, offset, name, key, value = _HEAD.unpack_from(data, at)
    if len(data) - at < size:
        return None
    end = at + _HEAD.size
    topic = bytes(data[end : end + name]).decode()
    end += name
    its_key = None if key < 0 else bytes(data[end : end + key])
    end += max(0, key)
    its_value = None if value < 0 else bytes(data[end : end + value])
    if kind == _PLACE:
        return PlaceFrame(topic, partition, offset, (its_key or b"").decode()), at + size
    return RecordFrame(topic, partition, offset, its_key, its_value), at + size
