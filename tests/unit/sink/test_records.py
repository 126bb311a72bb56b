"""What we write is what kafka-python reads: its own reader of message format v2 is the oracle."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.memory_records import MemoryRecords

from replicator.errors import SinkError
from replicator.kafka.batch import Batch
from replicator.model.batch import Record
from replicator.sink.kafka.batch_producer import batch_of
from replicator.sink.kafka.records import Stamp, encode, encode_plain, varint, zigzag

STAMP = Stamp("copy_hot_item", 4711)
OWN = [("task", b"copy_hot_item"), ("epoch", b"4711")]


def read(count: int, body: bytes) -> list[Any]:
    """Records of one batch by the library's reader, checksum included."""
    data = batch_of(body)
    Batch(("t", 0), data, count, 1_700_000_000_000, lambda error: None).seal(9, 3, 100, transactional=True)
    (whole,) = list(MemoryRecords(bytes(data)))
    assert whole.validate_crc()
    assert whole.is_transactional
    assert (whole.producer_id, whole.producer_epoch, whole.base_sequence) == (9, 3, 100)
    return list(whole)


def record(value: bytes | None, *, key: bytes | None = b"k", position: bytes = b"g:1", row: int = 0) -> Record:
    return ("topic", key, value, position, row, ())


sizes = st.one_of(st.integers(0, 300), st.sampled_from([63, 64, 8191, 8192, 20_000]))
blobs = st.one_of(st.none(), st.binary(max_size=60), sizes.map(lambda size: b"x" * size))
headers = st.lists(st.tuples(st.text(max_size=8), st.binary(max_size=100)), max_size=3).map(tuple)
rows = st.one_of(st.integers(0, 3), st.sampled_from([1023, 1024, 9_999_999]))
records = st.lists(
    st.tuples(st.just("topic"), blobs, blobs, st.sampled_from([b"g:1", b"g:2", b"binlog.000001:4"]), rows, headers),
    min_size=1,
    max_size=30,
)


@given(records, st.sampled_from([1, 1000, 1 << 20]))
def test_the_library_reads_what_we_write(given_records: list[Record], target: int) -> None:
    found = [
        read_record
        for count, body in encode(given_records, STAMP, target, 1 << 20)
        for read_record in read(count, body)
    ]
    assert len(found) == len(given_records)
    for (_, key, value, position, row, own, *_), back in zip(given_records, found, strict=True):
        assert back.key == key
        assert back.value == value
        assert back.headers == [*own, *OWN, ("position", position), ("row", b"%d" % row)]
        assert back.timestamp == 1_700_000_000_000


@given(records, st.integers(1, 50_000))
def test_only_a_single_record_may_be_over_the_target(given_records: list[Record], target: int) -> None:
    for count, body in encode(given_records, STAMP, target, 1 << 20):
        assert len(body) <= target or count == 1


def test_offsets_count_from_zero_in_each_batch() -> None:
    many = [record(b"v" * 10) for _ in range(9000)]
    batches = list(encode(many, STAMP, 1 << 20, 1 << 20))
    assert [count for count, _ in batches] == [9000]
    assert [found.offset for found in read(*batches[0])] == list(range(9000))


def test_a_record_over_the_limit_is_named() -> None:
    limit = 1000
    fits = record(b"v" * 900)
    huge = ("shop.hot_item", b'{"id":7}', b"v" * 1000, b"binlog.000003:4711", 3, ())
    with pytest.raises(SinkError) as raised:
        list(encode([fits, huge], STAMP, 1 << 20, limit))
    error = raised.value
    assert error.code == "E3102"
    assert not error.transient
    for part in ("shop.hot_item", '{"id":7}', "binlog.000003:4711", "row 3", f"at most {limit} bytes"):
        assert part in str(error)


def test_the_limit_counts_headers_too() -> None:
    (pair,) = encode([record(b"v" * 900)], STAMP, 1 << 20, 1 << 20)
    size = len(pair[1])
    list(encode([record(b"v" * 900)], STAMP, 1 << 20, size + 5))
    with pytest.raises(SinkError):
        list(encode([record(b"v" * 900)], STAMP, 1 << 20, size - 5))


def test_plain_record_has_no_headers() -> None:
    (found,) = read(1, encode_plain(b"task", b'{"v":1}'))
    assert (found.key, found.value, found.headers) == (b"task", b'{"v":1}', [])


@given(st.integers(-(2**40), 2**40))
def test_varint_is_zigzag(number: int) -> None:
    data = zigzag(number)
    assert varint(number) == data
    value = 0
    for place, byte in enumerate(data):
        value |= (byte & 0x7F) << 7 * place
    assert (value >> 1) ^ -(value & 1) == number
