from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.decode.values import java_floats


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (100.0, "100.0"),
        (0.1, "0.1"),
        (0.001, "0.001"),
        (0.00099, "9.9E-4"),
        (-9.999999999998899e-05, "-9.999999999998899E-5"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (123456789.125, "1.23456789125E8"),
        (9007199254740993.0, "9.007199254740992E15"),
        (1e16, "1.0E16"),
        (1e100, "1.0E100"),
        (1e-7, "1.0E-7"),
        (2e23, "2.0E23"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (-2.2250738585072014e-308, "-2.2250738585072014E-308"),
        (5e-324, "4.9E-324"),
        (1e-323, "9.9E-324"),
        (float("inf"), '"Infinity"'),
        (float("-inf"), '"-Infinity"'),
        (float("nan"), '"NaN"'),
    ],
)
def test_double(value: float, text: str) -> None:
    assert java_floats.double(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "0.1"),
        (0.333333333, "0.33333334"),
        (16777217.0, "1.6777216E7"),
        (12345678.0, "1.2345678E7"),
        (1234567.5, "1234567.5"),
        (1e8, "1.0E8"),
        (1e-5, "1.0E-5"),
        (3e10, "3.0E10"),
        (30000001024.0, "3.0E10"),
        (3.4e38, "3.4E38"),
        (3.402823466e38, "3.4028235E38"),
        (-1.5, "-1.5"),
        (1.4e-45, "1.4E-45"),
        (2.0**-96, "1.2621775E-29"),
        (float("-inf"), '"-Infinity"'),
    ],
)
def test_single(value: float, text: str) -> None:
    assert java_floats.single(struct.unpack("<f", struct.pack("<f", value))[0]) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_notation_depends_on_the_size_alone(value: float) -> None:
    text = java_floats.double(value)
    plain = value == 0 or 1e-3 <= abs(value) < 1e7
    assert ("E" not in text) == plain
    mantissa = text.lstrip("-").partition("E")[0]
    assert "." in mantissa and not mantissa.endswith(".")
    assert plain or (mantissa[1] == "." and mantissa[0] != "0")
    assert float(text) == value
