"""Reads record batches (message format v2, KIP-98) and determines which of their records are committed."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

import cramjam
from crc32c import crc32c
from kafka.errors import CorruptRecordError

from replicator.kafka.messages.fetch import Aborted

_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
_FRONT: Final = 12  # base offset and length
_CRC_FROM: Final = 21
_MAGIC: Final = 2
_CODEC: Final = 0x07
_TRANSACTIONAL: Final = 0x10
_CONTROL: Final = 0x20
_ABORT: Final = 0
_SNAPPY_JAVA: Final = b"\x82SNAPPY\0"
_SNAPPY_HEADER_BYTES: Final = 16


class Record(NamedTuple):
    offset: int
    key: bytes | None
    value: bytes | None


class _Batch(NamedTuple):
    start: int
    end: int  # behind its last offset
    codec: int
    transactional: bool
    control: bool
    producer: int
    size: int
    records: memoryview


def read(data: bytes, start: int, aborted: Sequence[Aborted] | None) -> tuple[list[Record], int]:
    """The records from offset `start` on, and the offset to go on at: behind what is left out, too.

    Args:
        data: of a Fetch; the last batch may be cut off.
        aborted: the transactions that the same Fetch names; their records are left out. None: all records are wanted.

    Raises:
        CorruptRecordError
    """
    found: list[Record] = []
    coming = sorted(aborted or (), key=lambda each: each.first)
    ended: set[int] = set()  # producers whose transaction is aborted at this place
    for batch in _batches(memoryview(data)):
        while coming and coming[0].first < batch.end:
            ended.add(coming.pop(0).producer)
        start_before, start = start, max(start, batch.end)
        if batch.control:
            if _is_abort(batch):
                ended.discard(batch.producer)
        elif not (aborted is not None and batch.transactional and batch.producer in ended):
            found += [record for record in _records(batch) if record.offset >= start_before]
    return found, start


def _batches(data: memoryview) -> Iterator[_Batch]:
    at = 0
    while len(data) - at >= _HEADER.size:
        start, length, _, magic, crc, attributes, last, _, _, producer, _, _, count = _HEADER.unpack_from(data, at)
        end = at + _FRONT + length
        if magic != _MAGIC:
            raise CorruptRecordError(f"a batch in message format {magic}; expected: {_MAGIC}")
        if end > len(data):
            return
        if length < _HEADER.size - _FRONT or crc32c(data[at + _CRC_FROM : end]) != crc:
            raise CorruptRecordError(f"the checksum of the batch at offset {start} is wrong")
        yield _Batch(
            start,
            start + last + 1,
            attributes & _CODEC,
            bool(attributes & _TRANSACTIONAL),
            bool(attributes & _CONTROL),
            producer,
            count,
            data[at + _HEADER.size : end],
        )
        at = end


def _is_abort(batch: _Batch) -> bool:
    records = list(_records(batch))
    if not records or records[0].key is None or len(records[0].key) < 4:
        raise CorruptRecordError(f"the control batch at offset {batch.start} has no type")
    return int(struct.unpack_from(">hh", records[0].key)[1]) == _ABORT


def _records(batch: _Batch) -> Iterator[Record]:
    try:
        data = _DECOMPRESS[batch.codec](batch.records)
        at = 0
        for _ in range(batch.size):
            length, at = _varint(data, at)
            end = at + length
            if length < 0 or end > len(data):
                raise ValueError("an unterminated record")
            _, at = _varint(data, at + 1)  # behind the attributes: the timestamp
            delta, at = _varint(data, at)
            key, at = _nullable(data, at)
            value, at = _nullable(data, at)
            yield Record(batch.start + delta, key, value)
            at = end
    except (ValueError, IndexError, KeyError, zlib.error, cramjam.DecompressionError) as error:
        raise CorruptRecordError(f"the batch at offset {batch.start} can't be read: {error}") from None


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    """A zigzag varint, and where it ends."""
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), at
        shift += 7
        if shift > 63:
            raise ValueError("an unterminated number")


def _nullable(data: memoryview, at: int) -> tuple[bytes | None, int]:
    length, at = _varint(data, at)
    if length < 0:
        return None, at
    if at + length > len(data):
        raise ValueError("an unterminated value")
    return bytes(data[at : at + length]), at + length


def _gzip(data: memoryview) -> memoryview:
    return memoryview(zlib.decompress(data, wbits=31))


def _snappy(data: memoryview) -> memoryview:
    """Raw, or in the blocks of snappy-java."""
    if bytes(data[: len(_SNAPPY_JAVA)]) != _SNAPPY_JAVA:
        return memoryview(bytes(cramjam.snappy.decompress_raw(data)))
    parts, at = [], _SNAPPY_HEADER_BYTES
    while at < len(data):
        (length,) = struct.unpack(">i", data[at : at + 4])
        parts.append(bytes(cramjam.snappy.decompress_raw(data[at + 4 : at + 4 + length])))
        at += 4 + length
    return memoryview(b"".join(parts))


def _lz4(data: memoryview) -> memoryview:
    return memoryview(bytes(cramjam.lz4.decompress(data)))


def _zstd(data: memoryview) -> memoryview:
    return memoryview(bytes(cramjam.zstd.decompress(data)))


_DECOMPRESS: Final[dict[int, Callable[[memoryview], memoryview]]] = {
    0: lambda data: data,
    1: _gzip,
    2: _snappy,
    3: _lz4,
    4: _zstd,
}
