"""Chooses the partition of a key as the Java client does, so that records of other producers with the same key share
it.

Records without a key (tables without a primary key) go to one partition per topic that is derived from the topic's
name. The Java client would scatter them; then the order of a table's rows would be lost, and order is what we promise.
"""

from __future__ import annotations

import struct
from functools import lru_cache

_SEED = 0x9747B28C
_M = 0x5BD1E995
_MASK = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """MurmurHash2 of `data` with the Java client's seed; unsigned 32 bit."""
    length = len(data)
    hashed = _SEED ^ length
    whole = length & ~3
    for word in struct.unpack_from(f"<{length >> 2}I", data):
        word = word * _M & _MASK
        word = (word ^ word >> 24) * _M & _MASK
        hashed = (hashed * _M & _MASK) ^ word
    if whole != length:
        hashed = (hashed ^ int.from_bytes(data[whole:], "little")) * _M & _MASK
    hashed = (hashed ^ hashed >> 13) * _M & _MASK
    return hashed ^ hashed >> 15


def partition_of(topic: str, key: bytes | None, partitions: int) -> int:
    """The partition of a key in a topic of `partitions` partitions."""
    if partitions == 1:
        return 0
    return (murmur2(key) & 0x7FFFFFFF) % partitions if key is not None else _without_key(topic, partitions)


@lru_cache(maxsize=1024)
def _without_key(topic: str, partitions: int) -> int:
    """Asked for each write."""
    return (murmur2(topic.encode()) & 0x7FFFFFFF) % partitions
