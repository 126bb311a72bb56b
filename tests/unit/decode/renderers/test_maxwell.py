"""Values in Maxwell's notation."""

from __future__ import annotations

import json
import struct
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.decode.renderers.maxwell import big_decimal
from replicator.errors import DecodeError
from replicator.model import types
from tests.unit.decode.decimal_writer import write_decimal
from tests.unit.decode.json_writer import write
from tests.unit.decode.renderers.column import render
from tests.unit.decode.renderers.test_temporal import date3, datetime2, time2


def java_text(unscaled: int, scale: int) -> str:
    """The canonical form of BigDecimal.toString's documentation, written the other way round than ours: from the
    scientific form of Python's decimals, which is the same but for the sign and the threshold of the exponent."""
    sign, figures, exponent = Decimal(unscaled).as_tuple()
    assert exponent == 0
    adjusted = -scale + len(figures) - 1
    digits = "".join(map(str, figures))
    if scale >= 0 and adjusted >= -6:
        whole, part = (digits[:-scale], digits[-scale:]) if scale else (digits, "")
        text = f"{whole or '0'}.{part.rjust(scale, '0')}" if scale else digits
    else:
        text = digits if len(digits) == 1 else f"{digits[0]}.{digits[1:]}"
        text += f"E{adjusted:+d}" if adjusted else ""
    return ("-" if sign else "") + text


@given(st.integers(-(10**65), 10**65), st.integers(0, 30))
def test_big_decimals(unscaled: int, scale: int) -> None:
    text = big_decimal(unscaled, scale)
    assert text == java_text(unscaled, scale)
    assert Fraction(text) == Fraction(unscaled, 10**scale)


@pytest.mark.parametrize(
    ("unscaled", "scale", "text"),
    [
        (0, 0, "0"),
        (0, 2, "0.00"),
        (0, 6, "0.000000"),
        (0, 7, "0E-7"),
        (0, 30, "0E-30"),
        (-1, 9, "-1E-9"),
        (1, 6, "0.000001"),
        (12, 8, "1.2E-7"),
        (123450000000, 9, "123.450000000"),
        (-5, 1, "-0.5"),
    ],
)
def test_what_java_prints(unscaled: int, scale: int, text: str) -> None:
    assert big_decimal(unscaled, scale) == text


@given(st.integers(1, 65), st.data())
def test_decimals(precision: int, data: st.DataObject) -> None:
    scale = data.draw(st.integers(0, min(30, precision)))
    unscaled = data.draw(st.integers(-(10**precision) + 1, 10**precision - 1))
    raw = write_decimal(unscaled, precision, scale)
    text = render("decimal_java", raw, types.NEWDECIMAL, meta=precision << 8 | scale).decode()
    assert text == java_text(unscaled, scale)


@given(st.integers(1, 64), st.data())
def test_bits(width: int, data: st.DataObject) -> None:
    value = data.draw(st.integers(0, 2**width - 1))
    raw = value.to_bytes((width + 7) // 8, "big")
    assert int(render("bit_int", raw, types.BIT, meta=(width // 8) << 8 | width % 8)) == value


def test_enums() -> None:
    members = ("a", 'quo"te', "ünï")
    texts = [render("enum_or_null", bytes((index,)), types.ENUM, meta=1, members=members) for index in range(4)]
    assert [json.loads(text) for text in texts] == [None, *members]
    with pytest.raises(DecodeError, match="E2302"):
        render("enum_or_null", b"\4", types.ENUM, meta=1, members=members)


@given(st.integers(0, 2**64 - 1), st.integers(1, 64))
def test_sets(bits: int, count: int) -> None:
    members = tuple(f"mémber{number}" for number in range(count))
    bits &= (1 << count) - 1
    size = next(size for size in (1, 2, 3, 4, 8) if size * 8 >= count)
    text = render("set_array", bits.to_bytes(size, "little"), types.SET, meta=size, members=members)
    assert json.loads(text) == [member for place, member in enumerate(members) if bits >> place & 1]
    if count < 8:
        with pytest.raises(DecodeError, match="E2302"):
            render("set_array", bytes((1 << count,)), types.SET, meta=1, members=members)


def test_json_is_json() -> None:
    document = {"a": [1, None, True, 'q"uote', "😀"], "": {}}
    text = render("json", write(document), types.JSON).decode()
    assert json.loads(text) == document
    assert " " not in text
    assert "😀" in text  # as it stands, not as surrogates: the text is not quoted once more
    assert render("json", b"", types.JSON) == b"null"


@given(st.integers(0, 9999), st.integers(0, 12), st.integers(0, 31))
def test_dates(year: int, month: int, day: int) -> None:
    raw = date3(year, month, day)
    text = f'"{year:04d}-{month:02d}-{day:02d}"'
    assert render("temporal", raw, types.DATE).decode() == text
    real = bool(year and month and day)
    assert render("temporal_or_null", raw, types.DATE).decode() == (text if real else "null")


def test_zero_dates() -> None:
    zero = datetime2(0, 0, 0, 0, 0, 0, 0, 3)
    assert render("temporal", zero, types.DATETIME2, meta=3) == b'"0000-00-00 00:00:00.000"'
    assert render("temporal_or_null", zero, types.DATETIME2, meta=3) == b"null"
    assert render("temporal", bytes(4), types.TIMESTAMP2, meta=0) == b'"0000-00-00 00:00:00"'
    assert render("temporal_or_null", bytes(4), types.TIMESTAMP2, meta=0) == b"null"
    assert render("temporal_or_null", bytes(4) + b"\x5a", types.TIMESTAMP2, meta=1) == b'"1970-01-01 00:00:00.9"'
    assert render("temporal_or_null", struct.pack(">I", 1), types.TIMESTAMP2, meta=0) == b'"1970-01-01 00:00:01"'


def test_times_are_never_null() -> None:
    assert render("temporal_or_null", time2(0, 0), types.TIME2, meta=0) == b'"00:00:00"'
