"""Reads batches as brokers store them, and what is no batch."""

from __future__ import annotations

import random
import struct
import zlib
from typing import Any

import cramjam
import pytest
from crc32c import crc32c
from kafka.errors import CorruptRecordError
from kafka.record.memory_records import MemoryRecordsBuilder

from replicator.kafka.messages.fetch import Aborted
from replicator.kafka.record_reader import Record, read

_HEADER = struct.Struct(">qiibIhiqqqhii")


def varint(number: int) -> bytes:
    number = (number << 1) ^ (number >> 63)
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*out, number))


def record(delta: int, key: bytes | None, value: bytes | None) -> bytes:
    parts = [b"\0", varint(0), varint(delta)]
    for each in (key, value):
        parts.append(varint(-1) if each is None else varint(len(each)) + each)
    body = b"".join(parts) + varint(0)
    return varint(len(body)) + body


def batch(
    start: int, *records: bytes, producer: int = 1, attributes: int = 0, last: int | None = None, count: int = -1
) -> bytes:
    content = b"".join(records)
    count = len(records) if count < 0 else count
    last = count - 1 if last is None else last
    rest = struct.pack(">hiqqqhii", attributes, last, 0, 0, producer, 0, 0, count) + content
    return struct.pack(">qiibI", start, len(rest) + 9, 0, 2, crc32c(rest)) + rest


def marker(start: int, producer: int, *, commit: bool) -> bytes:
    return batch(start, record(0, struct.pack(">hh", 0, commit), b"\0" * 6), producer=producer, attributes=0x30)


def values(data: bytes, start: int = 0, aborted: Any = ()) -> tuple[list[bytes | None], int]:
    found, end = read(data, start, aborted)
    return [each.value for each in found], end


def test_batches_of_kafka_python() -> None:
    for kind in (0, 1, 2, 3, 4):
        builder = MemoryRecordsBuilder(magic=2, compression_type=kind, batch_size=1 << 20)
        for number in range(50):
            builder.append(timestamp=number, key=None if number % 3 else b"key", value=b"%d" % number * 30)
        builder.append(timestamp=1, key=b"k", value=None)
        builder.close()
        found, end = read(bytes(builder.buffer()), 0, ())
        assert found[0] == Record(0, b"key", b"0" * 30) and found[1].key is None and end == 51
        assert [each.value for each in found] == [*(b"%d" % number * 30 for number in range(50)), None]


def test_what_is_aborted_is_left_out() -> None:
    """Two producers, interleaved; one aborts and then commits, the other commits."""
    transactional = 0x10
    data = b"".join(
        (
            batch(0, record(0, b"k", b"plain")),
            batch(1, record(0, b"k", b"never"), producer=7, attributes=transactional),
            batch(2, record(0, b"k", b"other"), producer=8, attributes=transactional),
            batch(3, record(0, b"k", b"never"), producer=7, attributes=transactional),
            marker(4, 7, commit=False),
            batch(5, record(0, b"k", b"again"), producer=7, attributes=transactional),
            marker(6, 8, commit=True),
            marker(7, 7, commit=True),
        )
    )
    aborted = [Aborted(7, 1)]
    assert values(data, 0, aborted) == ([b"plain", b"other", b"again"], 8)
    assert values(data, 0, None) == ([b"plain", b"never", b"other", b"never", b"again"], 8)
    assert values(data, 3, aborted) == ([b"again"], 8)


def test_records_before_the_start_and_gaps_of_compaction() -> None:
    data = batch(10, record(0, b"a", b"0"), record(3, b"a", b"3"), record(5, b"a", b"5"), last=9)
    assert values(data, 12) == ([b"3", b"5"], 20), "the next offset is behind what was compacted away"
    assert values(data, 16) == ([], 20)


def test_a_batch_that_is_cut_off_is_read_the_next_time() -> None:
    first, second = batch(0, record(0, b"k", b"a")), batch(1, record(0, b"k", b"b"))
    for cut in range(1, len(second)):
        assert values(first + second[:cut]) == ([b"a"], 1)
    assert values(b"", 5) == ([], 5)


def test_snappy_without_blocks() -> None:
    body = bytes(cramjam.snappy.compress_raw(record(0, b"k", b"v" * 100)))
    assert values(batch(0, body, attributes=2, count=1)) == ([b"v" * 100], 1)


@pytest.mark.parametrize(
    "data",
    [
        batch(0, record(0, b"k", b"v"))[:-1] + b"x",
        batch(0, b"\xff\xff\xff", count=1),
        batch(0, record(0, b"k", b"v"), count=2),
        batch(0, varint(3) + b"\0\0\0", count=1),
        batch(0, varint(-4), count=1),
        batch(0, b"abc", attributes=1, count=1),
        batch(0, zlib.compress(b"abc"), attributes=1, count=1),
        batch(0, b"abc", attributes=2, count=1),
        batch(0, b"\x82SNAPPY\0" + bytes(8) + b"\0\0\0\x09abc", attributes=2, count=1),
        batch(0, b"abc", attributes=3, count=1),
        batch(0, b"abc", attributes=4, count=1),
        batch(0, b"abc", attributes=7, count=1),
        batch(0, record(0, b"", b""), attributes=0x20),
        batch(0)[:16] + b"\1" + batch(0)[17:],
        struct.pack(">qi", 0, 5) + bytes(60),
    ],
)
def test_what_is_no_batch_is_not_guessed(data: bytes) -> None:
    with pytest.raises(CorruptRecordError):
        read(data, 0, ())


def test_any_bytes_are_a_clear_error_or_nothing() -> None:
    source = random.Random(7)
    good = batch(0, record(0, b"k", b"v" * 20), record(1, None, b"w"))
    for _ in range(3000):
        data = bytearray(good)
        for _ in range(source.randrange(1, 4)):
            data[source.randrange(len(data))] = source.randrange(256)
        rest = bytes(data[21:])
        data[17:21] = struct.pack(">I", crc32c(rest))
        try:
            read(bytes(data), 0, ())
        except CorruptRecordError:
            continue
