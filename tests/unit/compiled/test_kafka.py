"""Batches of packed records are those that the Python sink makes."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from replicator import compiled
from replicator.model.batch import Record
from replicator.model.partitioner import murmur2, partition_of
from replicator.sink.kafka.long_batches import pieces_of
from replicator.sink.kafka.records import BATCH_OVERHEAD, Stamp, encode
from tests.unit.compiled.test_arena import filled, records

STAMP = Stamp("orders", 7)


def twin(records: list[Record], partitions: int, target: int) -> list[tuple[str, int, int, bytes]]:
    """As `sink.kafka.session` sorts and `records.encode` writes them."""
    lanes: dict[str, list[list[Record]]] = {}
    for record in records:
        key = record[6] if len(record) == 7 else record[1]
        lane = partition_of(record[0], key, partitions)
        lanes.setdefault(record[0], [[] for _ in range(partitions)])[lane].append(record)
    return [
        (topic, partition, count, body)
        for topic, several in lanes.items()
        for partition, lane in enumerate(several)
        for count, body in encode(lane, STAMP, target, 1 << 20)
    ]


def ours(blocks: Any, partitions: int, target: int, most: int = 1 << 20) -> Any:
    batches = compiled.module("kafka").Batches(STAMP.prefix)
    names = batches.names(blocks)
    limits = [(partitions, partition_of(name, None, partitions), target, most) for name in names]
    made = batches.encode(blocks, limits)
    return made and [(names[number], lane, body) for number, lane, body in made]


@given(st.binary(max_size=100))
def test_murmur2(data: bytes) -> None:
    assert compiled.module("kafka").murmur2_of(data) == murmur2(data)


@given(st.lists(records, min_size=1, max_size=3), st.integers(1, 5), st.integers(1, 2000))
def test_batches(given: list[list[Record]], partitions: int, target: int) -> None:
    every = [record for some in given for record in some]
    blocks = tuple((filled(some), 0, len(some)) for some in given)
    made = ours(blocks, partitions, target) or []
    found = [(name, lane, body.count, bytes(memoryview(body)[BATCH_OVERHEAD:])) for name, lane, body in made]
    assert found == twin(every, partitions, target)
    singles = [body.record() for _, _, body in made if body.count == 1]
    assert all(single in every for single in singles)
    assert all(body.record is None for _, _, body in made if body.count > 1)


def test_a_record_that_is_too_large_is_left_to_the_twin() -> None:
    arena = filled([("t", b"k", b"v" * 500, b"f:4", 0, ())])
    assert ours(((arena, 0, 1),), 1, 1000) is not None
    assert ours(((arena, 0, 1),), 1, 1000, most=400) is None


def test_more_partitions_and_rows_than_one_byte_can_count() -> None:
    every: list[Record] = [("t", b"%d" % row, b"v" * 10, b"f:4", row, ()) for row in range(5000)]
    found = [
        (name, lane, body.count, bytes(memoryview(body)[BATCH_OVERHEAD:]))
        for name, lane, body in ours(((filled(every), 0, 5000),), 300, 100_000)
    ]
    assert found == twin(every, 300, 100_000)


def test_a_long_value_is_sent_from_its_arena() -> None:
    """It is a batch of its own, in three pieces, which are those of the twin."""
    long = b"v" * ((8 << 20) + 1)
    every: list[Record] = [
        ("t", b"1", b"a", b"f:4", 0, ()),
        ("t", b"2", long, b"f:4", 1, (("h", b"x"),)),
        ("t", b"3", b"c", b"f:4", 2, ()),
    ]
    made = ours(((filled(every), 0, 3),), 1, 1000, most=16 << 20)
    assert [(body.count, body.value is not None) for _, _, body in made] == [(1, False), (1, True), (1, False)]
    wanted = [body for _, body in encode(every, STAMP, 1000, 16 << 20)]
    assert [b"".join(pieces_of(body))[BATCH_OVERHEAD:] for _, _, body in made] == wanted
    body = made[1][2]
    assert len(body) < 300
    assert body.record() == ("t", b"2", None, b"f:4", 1, ())


def test_what_was_sent_of_a_long_value_is_given_back() -> None:
    long = b"v" * (9 << 20)
    ((_, _, body),) = ours(((filled([("t", b"1", long, b"f:4", 0, ())]), 0, 1),), 1, 1000, most=16 << 20)
    body.value.release(1 << 20)
    value = bytes(memoryview(body.value))
    assert value[8192 : 1 << 19] == bytes((1 << 19) - 8192)
    assert value[1 << 20 :] == long[1 << 20 :]
    assert body.record()[1] == b"1"
