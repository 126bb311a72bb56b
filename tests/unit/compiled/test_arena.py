"""An arena stands where lists of records stand."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from replicator import compiled
from replicator.model.batch import Record
from replicator.model.packed import PackedRecords

text = st.none() | st.binary(max_size=40)
headers = st.lists(st.tuples(st.text(max_size=10), st.binary(max_size=200)), max_size=3).map(tuple)
plain = st.tuples(
    st.sampled_from(["a", "b", "shop.orders"]), text, text, st.binary(max_size=30), st.integers(0, 1 << 40), headers
)
routed = st.builds(lambda record, route: (*record, route), plain, st.binary(max_size=20))
records = st.lists(plain | routed, max_size=30)


def filled(records: list[Record]) -> Any:
    arena = compiled.module("arena").Arena(16)
    for record in records:
        arena(record)
    return arena


@given(records)
def test_gives_what_it_took(given: list[Record]) -> None:
    arena = filled(given)
    assert len(arena) == len(given)
    assert list(arena[:]) == given
    assert [arena[index] for index in range(len(given))] == given


@given(records, st.integers(0, 30), records)
def test_is_cut_and_filled_again_like_a_list(given: list[Record], first: int, more: list[Record]) -> None:
    arena, twin = filled(given), list(given)
    del arena[first:]
    del twin[first:]
    assert list(arena[:]) == twin
    arena[first:] = more
    twin[first:] = more
    assert list(arena[:]) == twin


@given(records, records)
def test_packed_records_are_a_sequence(one: list[Record], other: list[Record]) -> None:
    packed = filled(one)[:] + filled(other)[:]
    assert isinstance(packed, PackedRecords)
    both = one + other
    assert packed == both and len(packed) == len(both)
    assert [packed[index] for index in range(-len(both), len(both))] == both + both
    assert packed[1:5] == both[1:5]
    assert filled(one)[3:][:] == one[3:]
