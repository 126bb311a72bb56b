from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.decode.values.json_binary import to_text
from replicator.errors import DecodeError
from replicator.model import types
from tests.unit.decode.decimal_writer import write_decimal
from tests.unit.decode.json_writer import Huge, Opaque, write

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.integers(-(2**15), 2**16)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=200)
)
documents = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=9), inner, max_size=5),
    max_leaves=30,
)


@given(documents, st.booleans())
def test_round_trip(value: Any, large: bool) -> None:
    assert json.loads(to_text(write(value, large=large))) == value


@given(documents, st.booleans())
def test_no_blanks_and_members_in_stored_order(value: Any, large: bool) -> None:
    pairs = json.loads(to_text(write({"b": value, "a": 1}, large=large)), object_pairs_hook=lambda p: p)
    assert [name for name, _ in pairs] == ["b", "a"]
    assert to_text(write({"b": [1, {}], "a": None}, large=large)) == '{"b":[1,{}],"a":null}'


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        (0.1, "0.1"),
        (1000.0, "1000.0"),
        (3e10, "30000000000"),
        (1e20, "100000000000000000000"),
        (
            1e100,
            "10000000000000000159028911097599180468360808563945281389781327557747838772170381060813469985856815104",
        ),
        (1e-7, "0.0000000999999999999999954748111825886258685613938723690807819366455078125"),
        (123456789012345678901234567890.0, "123456789012345677877719597056"),
        (2**64 - 1, "18446744073709551615"),
        (-(2**63), "-9223372036854775808"),
        (Huge(1), "1"),
        ('\0\x01\b\f\n\r\t"\\/', '"\\u0000\\u0001\\b\\f\\n\\r\\t\\"\\\\/"'),
        ("\x1f\x7f\u2028😀", '"\\u001F\x7f\u2028😀"'),
    ],
)
def test_scalars_as_debezium_prints_them(value: Any, text: str) -> None:
    assert to_text(write(value)) == text
    assert to_text(write([value])) == f"[{text}]"


def temporal(sign: int, day: int, h: int, m: int, s: int, us: int) -> bytes:
    packed = ((day << 17 | h << 12 | m << 6 | s) << 24) + us
    return (sign * packed).to_bytes(8, "little", signed=True)


def day(year: int, month: int, number: int) -> int:
    return (year * 13 + month) << 5 | number


@pytest.mark.parametrize(
    ("kind", "raw", "text"),
    [
        (types.DATE, temporal(1, day(2024, 1, 2), 0, 0, 0, 0), '"2024-01-02"'),
        (types.DATE, temporal(1, 0, 0, 0, 0, 0), '"0000-00-00"'),
        (types.TIME, temporal(1, 0, 12, 34, 56, 789000), '"12:34:56.789"'),
        (types.TIME, temporal(-1, 0, 12, 34, 56, 1), '"-12:34:56.000001"'),
        (types.TIME, temporal(1, 26, 6, 59, 59, 0), '"838:59:59"'),
        (types.DATETIME, temporal(1, day(2024, 1, 2), 3, 4, 5, 678901), '"2024-01-02 03:04:05.678901"'),
        (types.TIMESTAMP, temporal(1, day(2024, 1, 2), 3, 4, 5, 0), '"2024-01-02 03:04:05"'),
        (types.NEWDECIMAL, bytes([10, 3]) + write_decimal(123450, 10, 3), "123.450"),
        (types.NEWDECIMAL, bytes([4, 4]) + write_decimal(-1, 4, 4), "-0.0001"),
        (types.VARCHAR, b"\x00\xff\x10", '"base64:type15:AP8Q"'),
        (types.BIT, b"\x05", '"base64:type16:BQ=="'),
    ],
)
def test_opaque_values(kind: int, raw: bytes, text: str) -> None:
    assert to_text(write({"x": Opaque(kind, raw)})) == f'{{"x":{text}}}'


@given(st.integers(1, 65), st.data())
def test_decimals_keep_their_digits(precision: int, data: st.DataObject) -> None:
    scale = data.draw(st.integers(0, min(30, precision)))
    unscaled = data.draw(st.integers(-(10**precision) + 1, 10**precision - 1))
    raw = bytes([precision, scale]) + write_decimal(unscaled, precision, scale)
    text = to_text(write(Opaque(types.NEWDECIMAL, raw)))
    assert "E" not in text
    assert Decimal(text).as_tuple().exponent == -scale
    assert int(text.replace(".", "")) == unscaled


def test_an_empty_value_is_null() -> None:
    assert to_text(b"") == "null"


def test_a_hundred_levels() -> None:
    value: Any = []
    for _ in range(99):
        value = [value]
    assert to_text(write(value)) == "[" * 100 + "]" * 100


@given(st.binary(min_size=1, max_size=80))
def test_damaged_bytes_stop_or_give_text(raw: bytes) -> None:
    try:
        to_text(raw)
    except DecodeError as error:
        assert error.code == "E2302"


@given(documents.map(write), st.data())
def test_damaged_documents_stop_or_give_text(raw: bytes, data: st.DataObject) -> None:
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw = raw[:at] + bytes([data.draw(st.integers(0, 255))]) + raw[at + 1 :]
    try:
        to_text(raw[: data.draw(st.integers(1, len(raw)))])
    except DecodeError as error:
        assert error.code == "E2302"


def test_entries_that_share_a_value_do_not_multiply() -> None:
    """Forty nested arrays of two entries that point to the same inner one: 2**40 values of a few hundred bytes."""
    raw = b"\x02\x00\x00\x04\x00"[1:]
    for _ in range(40):
        header = (2).to_bytes(2, "little") + (10 + len(raw)).to_bytes(2, "little")
        raw = header + (b"\x02" + (10).to_bytes(2, "little")) * 2 + raw
    with pytest.raises(DecodeError, match="E2302"):
        to_text(b"\x02" + raw)
