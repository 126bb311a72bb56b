from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.decode.values.decimals import plain, reader
from tests.unit.decode.decimal_writer import write_decimal


@given(st.integers(1, 65), st.data())
def test_round_trip(precision: int, data: st.DataObject) -> None:
    scale = data.draw(st.integers(0, min(30, precision)))
    unscaled = data.draw(st.integers(-(10**precision) + 1, 10**precision - 1))
    raw = write_decimal(unscaled, precision, scale)
    size, read = reader(precision, scale)
    assert size == len(raw)
    assert read(raw) == unscaled


@pytest.mark.parametrize(
    ("raw", "unscaled"),
    [("81 0d fb 38 d2 04 d2", 12345678901234), ("7e f2 04 c7 2d fb 2d", -12345678901234)],
)
def test_the_example_in_mysqls_source(raw: str, unscaled: int) -> None:
    """strings/decimal.cc, decimal2bin: 1234567890.1234 as DECIMAL(14,4)."""
    assert reader(14, 4)[1](bytes.fromhex(raw)) == unscaled


@pytest.mark.parametrize(
    ("value", "scale", "text"), [(1230, 2, "12.30"), (0, 2, "0.00"), (-1, 4, "-0.0001"), (7, 0, "7"), (-15, 1, "-1.5")]
)
def test_plain(value: int, scale: int, text: str) -> None:
    assert plain(value, scale) == text
