"""Images of records joined by the compiled code are those that Python joins."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replicator import compiled
from replicator.decode.native.compiled_decoder import CompiledDecoder
from replicator.model.batch import Record
from replicator.model.packed_records import PackedRecords
from replicator.model.position import Position
from replicator.model.target_table import STATEMENT
from replicator.sink.mysql.row_runs import Run, joined, runs
from replicator.sink.mysql.row_sections import Section, TopicChanges, divided, sections
from tests.unit.compiled import both as pair

_OPERATIONS = (b"I", b"R", b"U", b"D", b"FI", b"FU", b"F", b"X", b"")
_values = st.builds(
    bytes.__add__, st.sampled_from(_OPERATIONS), st.binary(max_size=12) | st.binary(min_size=300, max_size=400)
)
_records = st.lists(
    st.tuples(st.sampled_from(["a#0", "a#1", STATEMENT]), st.none() | st.binary(max_size=3), st.none() | _values),
    max_size=30,
)


def packed(records: list[Record], cuts: list[int]) -> PackedRecords:
    """In several arenas, of which only a part counts."""
    blocks: list[Any] = []
    bounds = [0, *sorted(cut % (len(records) + 1) for cut in cuts), len(records)]
    for first, last in pairwise(bounds):
        arena = compiled.module("arena").Arena()
        for record in (("other", None, b"I", b"p", 0, ()), *records[first:last], ("other", None, b"D", b"p", 0, ())):
            arena(record)
        blocks.append((arena, 1, last - first + 1))
    return PackedRecords(tuple(blocks))


@settings(max_examples=400, deadline=None)
@given(_records, st.lists(st.integers(0, 30), max_size=3), st.sampled_from([0, 8, 40, 1000, 1 << 20]))
def test_any_records(drawn: Any, cuts: list[int], most: int) -> None:
    records: list[Record] = [(topic, key, value, b"p", row, ()) for row, (topic, key, value) in enumerate(drawn)]
    assert runs(packed(records, cuts), most) == list(joined(records, most))


@settings(max_examples=400, deadline=None)
@given(_records, st.lists(st.integers(0, 30), max_size=3), st.sampled_from([0, 8, 40, 1000, 1 << 20]))
def test_sections_of_any_records(drawn: Any, cuts: list[int], most: int) -> None:
    records: list[Record] = [(topic, key, value, b"p", row, ()) for row, (topic, key, value) in enumerate(drawn)]
    found = list(divided(records, most))
    assert sections(packed(records, cuts), most) == found
    assert [record for section in found for record in section.records] == records
    for section in found:
        its = list(joined(section.records, 1 << 20))
        if section.mark is None:
            assert section.topics == ()
            assert all(run.operation[-1:] in (b"", b"R") for run in its)
            continue
        assert {run.operation[:-1] for run in its} == {section.mark}
        assert len(section.records) == 1 or sum(len(run.images) for run in its) <= most
        for topic in section.topics:
            of_it = [run for run in its if run.topic == topic.topic]
            updates = sum(run.operation[-1:] == b"U" for run in of_it)
            assert topic == (topic.topic, len(of_it), updates, sum(len(run.images) for run in of_it))
        assert {run.topic for run in its} == {topic.topic for topic in section.topics}


def rows(*values: bytes, topic: str = "a#0") -> list[Record]:
    return [(topic, None, value, b"p", 0, ()) for value in values]


@pytest.mark.parametrize("cuts", [[], [1, 3]])
def test_what_is_joined(cuts: list[int]) -> None:
    update = b"\x02\0\0\0xxyy"
    records = rows(b"Iab", b"Icd", b"FIe", b"D!", b"U" + update, b"U" + update)
    records += [(STATEMENT, None, b"I{}", b"p", 0, ()), *rows(b"If"), *rows(b"Ig", topic="b#1")]
    expected = [
        Run("a#0", b"I", 2, b"abcd"),
        Run("a#0", b"FI", 1, b"e"),
        Run("a#0", b"D", 1, b"!"),
        Run("a#0", b"U", 2, b"xxyyxxyy"),
        Run(STATEMENT, b"", 1, b"I{}"),
        Run("a#0", b"I", 1, b"f"),
        Run("b#1", b"I", 1, b"g"),
    ]
    assert runs(records, 100) == expected
    assert runs(packed(records, cuts), 100) == expected
    assert [run.images for run in runs(records[:2], 3)] == [b"ab", b"cd"]


@pytest.mark.parametrize("cuts", [[], [1, 4]])
def test_sections(cuts: list[int]) -> None:
    update = b"\x02\0\0\0xxyy"
    first = [*rows(b"Ia", b"U" + update, b"U" + update), *rows(b"Ib", topic="b#0"), *rows(b"D!")]
    marked = rows(b"FIe", b"FDe")
    others: list[Record] = [*rows(b"Rs"), (STATEMENT, None, b"I{}", b"p", 0, ())]
    last = rows(b"Iz")
    expected = [
        Section(first, b"", (TopicChanges("a#0", 3, 1, 10), TopicChanges("b#0", 1, 0, 1))),
        Section(marked, b"F", (TopicChanges("a#0", 2, 0, 2),)),
        Section(others, None, ()),
        Section(last, b"", (TopicChanges("a#0", 1, 0, 1),)),
    ]
    records = first + marked + others + last
    assert sections(records, 100) == expected
    assert sections(packed(records, cuts), 100) == expected


def test_the_records_of_a_decoder() -> None:
    path = next(path for path in pair.recordings() if path.name.startswith("mysql_orders"))
    decoder = pair.decoder(CompiledDecoder, pair.IMAGES, "mysql", "file", Position("binlog.000001", 4))
    for batch in decoder.feed(pair.read(path)):
        assert isinstance(batch.records, PackedRecords)
        made = runs(batch.records, 1 << 20)
        assert made == list(joined(list(batch.records), 1 << 20))
        assert sum(run.records for run in made) == len(batch.records)
