"""Every type as Canal's string."""

from __future__ import annotations

import datetime
import json
import struct
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.model import types
from tests.unit.decode.decimal_writer import write_decimal
from tests.unit.decode.json_writer import Opaque, write
from tests.unit.decode.renderers.column import render
from tests.unit.decode.renderers.test_temporal import cut, date3, datetime2, digits, fraction, time2

UTF8MB4, LATIN1, GBK, UTF16, BINARY = 45, 8, 28, 54, 63


def string(raw: bytes, type_: int, **attributes: object) -> str:
    value = json.loads(render("canal", raw, type_, **attributes))
    assert isinstance(value, str)
    return value


@pytest.mark.parametrize(
    ("type_", "form", "bits"),
    [(types.TINY, "b", 8), (types.SHORT, "<h", 16), (types.LONG, "<i", 32), (types.LONGLONG, "<q", 64)],
)
@given(data=st.data())
def test_integers(type_: int, form: str, bits: int, data: st.DataObject) -> None:
    signed = data.draw(st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1))
    raw = struct.pack(form, signed)
    assert string(raw, type_) == str(signed)
    assert string(raw, type_, unsigned=True) == str(signed % 2**bits)


@given(st.integers(-(2**23), 2**23 - 1))
def test_three_bytes(value: int) -> None:
    raw = (value % 2**24).to_bytes(3, "little")
    assert string(raw, types.INT24) == str(value)
    assert string(raw, types.INT24, unsigned=True) == str(value % 2**24)


@given(st.integers(1, 64), st.data())
def test_bits(width: int, data: st.DataObject) -> None:
    value = data.draw(st.integers(0, 2**width - 1))
    raw = value.to_bytes((width + 7) // 8, "big")
    assert string(raw, types.BIT, meta=(width // 8) << 8 | width % 8) == str(value)


@given(st.integers(1, 65), st.data())
def test_decimals_have_all_digits_of_their_scale(precision: int, data: st.DataObject) -> None:
    scale = data.draw(st.integers(0, min(30, precision)))
    unscaled = data.draw(st.integers(-(10**precision) + 1, 10**precision - 1))
    text = string(write_decimal(unscaled, precision, scale), types.NEWDECIMAL, meta=precision << 8 | scale)
    assert len(text.partition(".")[2]) == scale
    assert int(text.replace(".", "")) == unscaled


@pytest.mark.parametrize(
    ("value", "text"), [(0.1, "0.1"), (16777217.0, "1.6777216E7"), (-0.0, "-0.0"), (1e-5, "1.0E-5")]
)
def test_floats(value: float, text: str) -> None:
    assert string(struct.pack("<f", value), types.FLOAT) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_doubles(value: float) -> None:
    text = string(struct.pack("<d", value), types.DOUBLE)
    assert struct.pack("<d", float(text)) == struct.pack("<d", value)


@given(st.text())
def test_text(text: str) -> None:
    assert string(text.encode(), types.VARCHAR, collation=UTF8MB4) == text


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ('quote" back\\slash', rb'"quote\" back\\slash"'),
        ("\b\t\n\f\r", rb'"\b\t\n\f\r"'),
        ("\0\x01\x0b\x0e\x1f", rb'"\u0000\u0001\u000b\u000e\u001f"'),
        ("/ <&> \x7f", b'"/ <&> \x7f"'),
        ("\u2028é中😀\x80", '"\u2028é中😀\x80"'.encode()),
    ],
)
def test_escapes_are_those_of_fastjson2(text: str, escaped: bytes) -> None:
    """In lower case, and of nothing but control characters, quote and backslash."""
    assert render("canal", text.encode(), types.BLOB, collation=UTF8MB4, meta=2) == escaped


@pytest.mark.parametrize(
    ("collation", "raw", "text"),
    [
        (LATIN1, b'Gr\xfc\xdfe \x80"', 'Grüße €"'),
        (GBK, "中文".encode("gbk"), "中文"),
        (UTF16, "Ω😀\n".encode("utf-16-be"), "Ω😀\n"),
        (UTF8MB4, b"\xff bad", "\ufffd bad"),
    ],
)
def test_character_sets(collation: int, raw: bytes, text: str) -> None:
    assert string(raw, types.VARCHAR, collation=collation) == text


@given(st.binary())
def test_bytes_are_characters(raw: bytes) -> None:
    for type_ in (types.BLOB, types.GEOMETRY):
        assert string(raw, type_, collation=BINARY, meta=4).encode("latin-1") == raw
    assert string(raw.rstrip(b"\0"), types.STRING, collation=BINARY, meta=len(raw)).encode("latin-1") == raw


def test_years() -> None:
    assert [string(bytes([v]), types.YEAR) for v in (0, 1, 255)] == ["0000", "1901", "2155"]


@pytest.mark.parametrize("day", [(0, 0, 0), (2024, 5, 0), (2023, 2, 30), (1, 1, 1), (9999, 12, 31)])
def test_dates_whatever_the_calendar_says(day: tuple[int, int, int]) -> None:
    text = "{:04d}-{:02d}-{:02d}".format(*day)
    assert string(date3(*day), types.DATE) == text
    assert string(datetime2(*day, 1, 2, 3, 0, 0), types.DATETIME2, meta=0) == f"{text} 01:02:03"
    old = int(text.replace("-", "")) * 1_000_000 + 10203
    assert string(struct.pack("<Q", old), types.DATETIME) == f"{text} 01:02:03"


@given(st.integers(-3_020_399_000_000, 3_020_399_000_000), digits)
def test_times(us: int, fsp: int) -> None:
    us = cut(us, fsp)
    text = string(time2(us, fsp), types.TIME2, meta=fsp)
    sign, clock = (-1, text[1:]) if text.startswith("-") else (1, text)
    hours, minutes, seconds = clock.split(":")
    assert sign * (int(hours) * 3600 + int(minutes) * 60 + Decimal(seconds)) * 1_000_000 == us
    assert len(text.partition(".")[2]) == fsp
    assert len(hours) >= 2


@pytest.mark.parametrize(("packed", "text"), [(0, "00:00:00"), (-8385959, "-838:59:59"), (123456, "12:34:56")])
def test_times_without_fractions(packed: int, text: str) -> None:
    assert string(packed.to_bytes(3, "little", signed=True), types.TIME) == text


@given(st.datetimes(), digits)
def test_datetimes(at: datetime.datetime, fsp: int) -> None:
    us = cut(at.microsecond, fsp)
    raw = datetime2(at.year, at.month, at.day, at.hour, at.minute, at.second, us, fsp)
    assert string(raw, types.DATETIME2, meta=fsp) == at.isoformat(" ", "microseconds")[: 19 + fsp + bool(fsp)]


@given(st.integers(1, 2**32 - 1), st.integers(0, 999_999), digits)
def test_timestamps_are_utc(seconds: int, us: int, fsp: int) -> None:
    us = cut(us, fsp)
    at = datetime.datetime.fromtimestamp(seconds, datetime.UTC).replace(microsecond=us, tzinfo=None)
    text = string(seconds.to_bytes(4, "big") + fraction(us, fsp), types.TIMESTAMP2, meta=fsp)
    assert text == at.isoformat(" ", "microseconds")[: 19 + fsp + bool(fsp)]
    if not fsp:
        assert string(seconds.to_bytes(4, "little"), types.TIMESTAMP) == text


def test_zero_timestamps() -> None:
    assert string(bytes(4), types.TIMESTAMP2, meta=0) == "0000-00-00 00:00:00"
    assert string(bytes(6), types.TIMESTAMP2, meta=3) == "0000-00-00 00:00:00.000"
    assert string(bytes(6) + b"\1", types.TIMESTAMP2, meta=6) == "1970-01-01 00:00:00.000001"


def test_members_are_numbers() -> None:
    assert string(b"\3", types.ENUM, meta=1, members=("a", "b", "c")) == "3"
    assert string(b"\0\1", types.ENUM, meta=2) == "256"
    assert string(b"\5", types.SET, meta=1, members=("a", "b", "c")) == "5"
    assert string(b"\1\0\2", types.SET, meta=3) == "131073"
    assert string(b"\xff" * 8, types.SET, meta=8) == "18446744073709551615"


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({"a": 1, "b": [1, {"c": None}]}, '{"a": 1, "b": [1, {"c": null}]}'),
        ([1e100, 1.0, -0.0], "[1.0E100, 1.0, -0.0]"),
        ('\0\x01\b\f\n\r\t"\\/\x7f😀', '"\\u0000\\u0001\\u0008\\u000c\\n\\r\\t\\"\\\\/\\u007f😀"'),
        ("\x80\x9f\xa0\xa1é", '"\\u0080\\u009f\\u00a0¡é"'),
        ({"\x85": "\xa0"}, '{"\\u0085": "\\u00a0"}'),
        (Opaque(types.TIME, struct.pack("<q", (12 << 12 | 34 << 6 | 56) << 24 | 789000)), '"12:34:56.789000"'),
        (Opaque(types.TIME, struct.pack("<q", -((12 << 12 | 34 << 6 | 56) << 24 | 1))), '"-12:34:56.000001"'),
        (Opaque(types.TIME, bytes(8)), '"00:00:00"'),
        (Opaque(types.DATETIME, bytes(8)), '"0000-00-00 00:00:00"'),
        (Opaque(types.DATE, struct.pack("<q", ((2024 * 13 + 1) << 5 | 2) << 41)), '"2024-01-02"'),
        (
            Opaque(types.DATETIME, struct.pack("<q", (((2024 * 13 + 1) << 5 | 2) << 17 | 3 << 12 | 4 << 6 | 5) << 24)),
            '"2024-01-02 03:04:05.000000"',
        ),
        (Opaque(types.BLOB, b"\0\xff\x10"), '"base64:type252:AP8Q"'),
    ],
)
def test_json_as_the_server_writes_it_but_for_doubles(document: object, text: str) -> None:
    assert string(write(document), types.JSON, meta=4) == text


def test_vectors() -> None:
    assert string(struct.pack("<3f", 1, -2.5, 3e10), types.VECTOR, meta=2) == "[1.0,-2.5,3.0E10]"


@pytest.mark.parametrize(
    ("type_", "form", "narrow", "wide"),
    [
        (types.TINY, "B", b"-6", b"5"),
        (types.SHORT, "<H", b"5", b"4"),
        (types.LONG, "<I", b"4", b"-5"),
        (types.LONGLONG, "<Q", b"-5", b"3"),
    ],
)
def test_the_type_of_an_unsigned_integer_is_by_value(type_: int, form: str, narrow: bytes, wide: bytes) -> None:
    most = 2 ** (8 * struct.calcsize(form) - 1)
    for value, expected in ((0, narrow), (most - 1, narrow), (most, wide), (2 * most - 1, wide)):
        assert render("canal_sql_type", struct.pack(form, value), type_, unsigned=True) == expected


def test_the_type_of_other_values() -> None:
    assert render("canal_sql_type", b"\1\0\0", types.SET, meta=3) == b"-7"
    assert render("canal_sql_type", b"", types.JSON, meta=4) == b"12"
