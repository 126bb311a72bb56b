"""Notations of Debezium's options."""

from __future__ import annotations

import pytest

from replicator.model import types
from tests.unit.decode.renderers.column import render


def date(year: int, month: int = 1, day: int = 1) -> bytes:
    return (year << 9 | month << 5 | day).to_bytes(3, "little")


def datetime6(year: int, month: int = 1, day: int = 1, micros: int = 0) -> bytes:
    return (1 << 39 | (year * 13 + month) << 22 | day << 17).to_bytes(5, "big") + micros.to_bytes(3, "big")


def time6(seconds: int, micros: int = 0, *, negative: bool = False) -> bytes:
    packed = (seconds // 3600 << 12 | seconds // 60 % 60 << 6 | seconds % 60) << 24 | micros
    return ((0x800000 << 24) + (-packed if negative else packed)).to_bytes(6, "big")


@pytest.mark.parametrize(
    ("year", "expected"),
    [(1, b'"2001-01-01Z"'), (69, b'"2069-01-01Z"'), (70, b'"1970-01-01Z"'), (99, b'"1999-01-01Z"'),
     (100, b'"0100-01-01Z"'), (0, b"null")],
)  # fmt: skip
def test_years_of_two_digits(year: int, expected: bytes) -> None:
    assert render("date_iso_windowed", date(year), types.DATE) == expected


def test_years_of_two_digits_left_alone() -> None:
    assert render("date_iso", date(70), types.DATE) == b'"0070-01-01Z"'
    assert render("datetime_us_windowed", datetime6(70), types.DATETIME2, meta=6) == b"0"


@pytest.mark.parametrize("name", ["date_days", "date_iso", "date_days_windowed"])
def test_the_text_for_dates_that_are_none(name: str) -> None:
    for nullable in (True, False):
        assert render(f'{name}:"x:y"', date(2023, 2, 30), types.DATE, nullable=nullable) == b'"x:y"'
    assert render(name, date(2023, 2, 30), types.DATE) == b"null"


@pytest.mark.parametrize(
    ("raw", "expected"),
    [(datetime6(2024, 2, 29, 789_123), b"1709164800789123000"), (datetime6(9999), b"null"), (datetime6(1000), b"null")],
)
def test_nanoseconds(raw: bytes, expected: bytes) -> None:
    assert render("datetime_ns", raw, types.DATETIME2, meta=6) == expected


def test_iso_datetimes_have_the_digits_that_it_takes() -> None:
    assert (
        render("datetime_iso", datetime6(2024, 2, 29, 780_000), types.DATETIME2, meta=6) == b'"2024-02-29T00:00:00.78Z"'
    )
    assert render("datetime_iso", datetime6(2024, 2, 29), types.DATETIME2, meta=6) == b'"2024-02-29T00:00:00Z"'


@pytest.mark.parametrize(
    ("name", "raw", "nullable", "not_null"),
    [
        ("time_ms", time6(45_296, 789_123), b"45296789", b"45296789"),
        ("time_ms", time6(86_400), b"86400000", b"86400000"),
        ("time_ms", time6(86_400, 1), b"null", b"86400000"),
        ("time_ms", time6(1, negative=True), b"null", b"-1000"),
        ("time_iso", time6(45_296, 780_000), b'"12:34:56.78Z"', b'"12:34:56.78Z"'),
        ("time_iso", time6(1, negative=True), b"null", b'"-00:00:01Z"'),
        ("time_ns", time6(1, 1, negative=True), b"-1000001000", b"-1000001000"),
    ],
)
def test_times(name: str, raw: bytes, nullable: bytes, not_null: bytes) -> None:
    assert render(name, raw, types.TIME2, meta=6) == nullable
    assert render(name, raw, types.TIME2, meta=6, nullable=False) == not_null


def test_numbers_and_bytes() -> None:
    assert render("unsigned_base64", b"\xff" * 8, types.LONGLONG, unsigned=True) == b'"AP//////////"'
    assert render("unsigned_base64", bytes(8), types.LONGLONG, unsigned=True) == b'"AA=="'
    assert render("bool", b"\x02", types.TINY) == b"true"
    assert render("hex", b"\x0a", types.STRING, meta=3, collation=63) == b'"0a0000"'
    assert render("base64_url", b"\xff\xfe", types.VARCHAR, meta=9, collation=63) == b'"__4="'
    assert render("decimal_string", b"\x80\x00\x01\x0a", types.NEWDECIMAL, meta=8 << 8 | 2) == b'"1.10"'
    assert render("decimal_double", b"\x80\x00\x01\x0a", types.NEWDECIMAL, meta=8 << 8 | 2) == b"1.1"
