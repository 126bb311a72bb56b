"""An arena stands where lists of records stand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator import compiled
from replicator.model.batch import Record
from replicator.model.packed_records import PackedRecords

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


@pytest.mark.parametrize("digits", range(1, 20))
def test_numbers_of_every_length(digits: int) -> None:
    """Printed in the place of a NUL byte; what stands behind it stays."""
    least, most = 10 ** (digits - 1), min(10**digits - 1, (1 << 63) - 1)
    numbers = sorted({0, least, least + 1, most // 3, most - 1, most, -least, -most})
    arena = filled([("t", b"key", b"<\0>", b"p", number, (("h", b"behind"),)) for number in numbers])
    as_it_is = [b"", b""], [0]
    assert arena.complete(0, as_it_is, as_it_is) > 0
    assert [record[2] for record in arena[:]] == [b"<%d>" % number for number in numbers]
    assert {record[5] for record in arena[:]} == {(("h", b"behind"),)}
