from __future__ import annotations

import base64
import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.errors import DecodeError
from replicator.model import types
from tests.unit.decode.decimal_writer import write_decimal
from tests.unit.decode.renderers.column import render

SIZES = {types.TINY: 1, types.SHORT: 2, types.INT24: 3, types.LONG: 4, types.LONGLONG: 8}


@pytest.mark.parametrize("type_", SIZES)
@pytest.mark.parametrize("unsigned", [False, True])
@given(data=st.data())
def test_integers_of_every_size_and_sign(type_: int, unsigned: bool, data: st.DataObject) -> None:
    bits = 8 * SIZES[type_]
    low, high = (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    value = data.draw(st.integers(low, high) | st.sampled_from([low, high, 0]))
    raw = value.to_bytes(SIZES[type_], "little", signed=not unsigned)
    assert render("int", raw, type_, unsigned=unsigned) == str(value).encode()


@pytest.mark.parametrize(
    ("value", "text"),
    [(2**64 - 1, b"-1"), (2**63, b"-9223372036854775808"), (2**63 - 1, b"9223372036854775807"), (0, b"0")],
)
def test_bigint_unsigned_wraps_as_in_java(value: int, text: bytes) -> None:
    assert render("int_java", struct.pack("<Q", value), types.LONGLONG, unsigned=True) == text


def test_int_unsigned_does_not_wrap() -> None:
    assert render("int_java", b"\xff\xff\xff\xff", types.LONG, unsigned=True) == b"4294967295"


@pytest.mark.parametrize(("raw", "text"), [(0, b"0"), (1, b"1901"), (124, b"2024"), (255, b"2155")])
def test_year(raw: int, text: bytes) -> None:
    assert render("year", bytes([raw]), types.YEAR) == text


@pytest.mark.parametrize(
    ("bits", "value", "text"),
    [
        (1, 0, b"false"),
        (1, 1, b"true"),
        (2, 3, b'"Aw=="'),
        (8, 255, b'"/w=="'),
        (9, 257, b'"AQE="'),
        (9, 511, b'"/wE="'),
        (32, 0x01020304, b'"BAMCAQ=="'),
        (33, 0x102030405, b'"BQQDAgE="'),
        (63, 0x0102030405060708, b'"CAcGBQQDAgE="'),
        (64, 2**64 - 1, b'"//////////8="'),
    ],
)
def test_bits_lowest_byte_first(bits: int, value: int, text: bytes) -> None:
    raw = value.to_bytes((bits + 7) // 8, "big")
    assert render("bit", raw, types.BIT, meta=(bits // 8) << 8 | bits % 8) == text


@pytest.mark.parametrize(
    ("precision", "scale", "unscaled", "text"),
    [
        (10, 2, 110, b'"bg=="'),
        (10, 2, 0, b'"AA=="'),
        (10, 2, -9999999999, b'"/av0HAE="'),
        (1, 0, -9, b'"9w=="'),
        (18, 9, -1, b'"/w=="'),
        (12, 4, 1000000, b'"D0JA"'),
        (20, 5, -99999999999999999999, b'"+pQ4odKc8AAB"'),
        (65, 0, 10**65 - 1, b'"APMWJxx/w5CKi+9GTjlF73olNgn//////////w=="'),
        (30, 30, 10**29, b'"AUMeD65tchfKoAAAAA=="'),
    ],
)
def test_decimals_as_debezium_prints_them(precision: int, scale: int, unscaled: int, text: bytes) -> None:
    raw = write_decimal(unscaled, precision, scale)
    assert render("decimal_base64", raw, types.NEWDECIMAL, meta=precision << 8 | scale) == text


@given(st.integers(1, 65), st.data())
def test_decimals_round_trip(precision: int, data: st.DataObject) -> None:
    scale = data.draw(st.integers(0, min(30, precision)))
    unscaled = data.draw(st.integers(-(10**precision) + 1, 10**precision - 1))
    raw = write_decimal(unscaled, precision, scale)
    text = render("decimal_base64", raw, types.NEWDECIMAL, meta=precision << 8 | scale)
    content = base64.b64decode(json.loads(text))
    assert int.from_bytes(content, "big", signed=True) == unscaled
    assert len(content) == 1 or int.from_bytes(content[1:], "big", signed=True) != unscaled, "a byte too many"


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_read_back(value: float) -> None:
    assert float(render("float_java", struct.pack("<d", value), types.DOUBLE)) == value


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_floats_read_back(value: float) -> None:
    text = render("float_java", struct.pack("<f", value), types.FLOAT)
    assert struct.pack("<f", float(text)) == struct.pack("<f", value)


def test_a_type_in_a_foreign_notation_is_refused_by_name() -> None:
    with pytest.raises(DecodeError, match=r"E2301.*d\.t\.c.*'year'.*LONG"):
        render("year", b"\0\0\0\0", types.LONG)
