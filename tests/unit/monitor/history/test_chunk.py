"""Values of a task over consecutive steps, in memory and as stored bytes."""

from __future__ import annotations

import zlib
from array import array
from math import isnan, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.history.chunk import Chunk, reduced
from monitor.history.series import SERIES

values = st.tuples(*(st.floats(width=32, allow_infinity=False) for _ in SERIES))
LAG, ROWS, _, _, RUNNING = range(5)


@given(st.dictionaries(st.integers(0, 19), values))
def test_what_is_stored_is_read(slots: dict[int, tuple[float, ...]]) -> None:
    chunk = Chunk(20)
    for slot, one in slots.items():
        chunk.put(slot, one)
    again = Chunk.decode(chunk.encode(), 20)
    assert again is not None
    for slot in range(20):
        expected = slots.get(slot, (nan,) * len(SERIES))
        for series, value, stored in zip(SERIES, expected, again.get(slot), strict=True):
            if isnan(value):
                assert isnan(stored)
            else:
                assert abs(stored - value) <= max(abs(value) / (31 if series.coarse else 10_000), 1e-37)


@pytest.mark.parametrize("series", [1, 5, len(SERIES) + 1])
def test_a_chunk_of_another_release_has_the_series_that_both_know(series: int) -> None:
    raw = array("f", range(20 * series)).tobytes()
    again = Chunk.decode(zlib.compress(b"".join(raw[byte::4] for byte in range(4))), 20)
    assert again is not None
    for number in range(len(SERIES)):
        wanted = [float(number * 20 + slot) for slot in range(20)] if number < series else [nan] * 20
        assert [repr(value) for value in again.column(number)] == [repr(value) for value in wanted]


@given(st.binary(max_size=60))
def test_other_bytes_are_no_chunk(data: bytes) -> None:
    assert Chunk.decode(data, 20) is None
    assert Chunk.decode(zlib.compress(data), 20) is None


def test_a_chunk_of_another_length_is_none() -> None:
    assert Chunk.decode(Chunk(19).encode(), 20) is None


@pytest.mark.parametrize(
    ("series", "joined"), [(LAG, 9.0), (ROWS, 4.0), (RUNNING, 1.0)], ids=["worst lag", "mean rate", "worst state"]
)
def test_a_longer_step_has_the_worst_or_the_mean(series: int, joined: float) -> None:
    assert reduced(SERIES[series], [2.0, nan, 9.0, 1.0]) == joined
    assert isnan(reduced(SERIES[series], [nan, nan]))
    assert isnan(reduced(SERIES[series], []))
