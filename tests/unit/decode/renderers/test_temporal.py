"""Raw values are packed here as sql-common/my_time.cc packs them."""

from __future__ import annotations

import datetime
import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.model import types
from tests.unit.decode.renderers.column import render

EPOCH = datetime.datetime(1970, 1, 1)
digits = st.integers(0, 6)


def fraction(us: int, fsp: int) -> bytes:
    size = (fsp + 1) // 2
    return (us // 10 ** (6 - 2 * size)).to_bytes(size, "big")


def time2(us: int, fsp: int) -> bytes:
    seconds, rest = divmod(abs(us), 1_000_000)
    whole = (seconds // 3600) << 12 | (seconds // 60 % 60) << 6 | seconds % 60
    size = (fsp + 1) // 2
    packed = whole << (8 * size) | int.from_bytes(fraction(rest, fsp), "big")
    return ((0x800000 << (8 * size)) + (-packed if us < 0 else packed)).to_bytes(3 + size, "big")


def datetime2(year: int, month: int, day: int, h: int, m: int, s: int, us: int, fsp: int) -> bytes:
    packed = (year * 13 + month) << 5 | day
    packed = packed << 17 | h << 12 | m << 6 | s
    return (packed + 0x8000000000).to_bytes(5, "big") + fraction(us, fsp)


def date3(year: int, month: int, day: int) -> bytes:
    return (year << 9 | month << 5 | day).to_bytes(3, "little")


def cut(us: int, fsp: int) -> int:
    """Towards zero, as the server stores no more digits than the column has."""
    unit = 10 ** (6 - fsp)
    return us // unit * unit if us >= 0 else -(-us // unit * unit)


@given(st.dates())
def test_dates_are_days(day: datetime.date) -> None:
    text = render("date_days", date3(day.year, day.month, day.day), types.DATE)
    assert int(text) == (day - EPOCH.date()).days


@pytest.mark.parametrize("day", [(0, 0, 0), (2024, 0, 0), (2024, 5, 0), (0, 5, 6), (2023, 2, 30), (2023, 2, 29)])
def test_dates_that_are_none(day: tuple[int, int, int]) -> None:
    raw = date3(*day)
    assert render("date_days", raw, types.DATE, nullable=True) == b"null"
    assert render("date_days", raw, types.NEWDATE, nullable=False) == b"0"


@given(digits, st.integers(-3_020_399_000_000, 3_020_399_000_000))
def test_times_are_microseconds(fsp: int, us: int) -> None:
    us = cut(us, fsp)
    assert render("time_us", time2(us, fsp), types.TIME2, meta=fsp) == str(us).encode()


@pytest.mark.parametrize(
    ("raw", "fsp", "text"),
    [
        ("7fffff", 0, b"-1000000"),
        ("7ffffff6", 1, b"-100000"),  # -00:00:00.1
        ("7fffffff", 2, b"-10000"),
        ("7ffffffff6", 3, b"-1000"),
        ("7fffffffffff", 6, b"-1"),
        ("b46efb", 0, b"3020399000000"),
    ],
)
def test_times_in_the_servers_bytes(raw: str, fsp: int, text: bytes) -> None:
    assert render("time_us", bytes.fromhex(raw), types.TIME2, meta=fsp) == text


@pytest.mark.parametrize(("packed", "us"), [(123456, 45_296_000_000), (-8385959, -3_020_399_000_000), (0, 0)])
def test_times_of_the_old_format(packed: int, us: int) -> None:
    raw = packed.to_bytes(3, "little", signed=True)
    assert render("time_us", raw, types.TIME) == str(us).encode()


@given(digits, st.datetimes())
def test_datetimes_count_from_the_epoch(fsp: int, moment: datetime.datetime) -> None:
    us = cut(moment.microsecond, fsp)
    raw = datetime2(*moment.timetuple()[:6], us, fsp)
    expected = (moment.replace(microsecond=us) - EPOCH) // datetime.timedelta(microseconds=1)
    assert int(render("datetime_us", raw, types.DATETIME2, meta=fsp)) == expected
    assert int(render("datetime_ms", raw, types.DATETIME2, meta=fsp)) == expected // 1000


@pytest.mark.parametrize("parts", [(0, 0, 0, 0, 0, 0, 0), (2024, 0, 0, 0, 0, 0, 0), (2023, 2, 31, 1, 2, 3, 4)])
def test_datetimes_that_are_none(parts: tuple[int, int, int, int, int, int, int]) -> None:
    raw = datetime2(*parts, fsp=6)
    assert render("datetime_us", raw, types.DATETIME2, meta=6, nullable=True) == b"null"
    assert render("datetime_us", raw, types.DATETIME2, meta=6, nullable=False) == b"0"


def test_datetimes_of_the_old_format() -> None:
    raw = struct.pack("<Q", 20240229123456)
    assert render("datetime_ms", raw, types.DATETIME) == b"1709210096000"
    assert render("datetime_ms", bytes(8), types.DATETIME) == b"null"
    assert render("datetime_ms", bytes(8), types.DATETIME, nullable=False) == b"0"


@given(digits, st.integers(1, 2**32 - 1), st.integers(0, 999_999))
def test_timestamps_are_iso_with_the_columns_digits(fsp: int, seconds: int, us: int) -> None:
    raw = seconds.to_bytes(4, "big") + fraction(us, fsp)
    text = json.loads(render("timestamp_iso", raw, types.TIMESTAMP2, meta=fsp))
    moment = EPOCH + datetime.timedelta(seconds=seconds, microseconds=cut(us, fsp))
    assert text == moment.strftime("%Y-%m-%dT%H:%M:%S") + (f".{moment.microsecond:06d}"[: fsp + 1] if fsp else "") + "Z"


@pytest.mark.parametrize(("fsp", "text"), [(0, b'"1970-01-01T00:00:00Z"'), (3, b'"1970-01-01T00:00:00.000Z"')])
def test_the_zero_timestamp(fsp: int, text: bytes) -> None:
    raw = bytes(4 + (fsp + 1) // 2)
    assert render("timestamp_iso", raw, types.TIMESTAMP2, meta=fsp, nullable=True) == b"null"
    assert render("timestamp_iso", raw, types.TIMESTAMP2, meta=fsp, nullable=False) == text


def test_a_fraction_of_the_first_second_is_no_zero_timestamp() -> None:
    """What MariaDB keeps of one that is out of range, where it is not strict; and it selects 1970 then."""
    for fsp, raw, text in ((1, b"\x5a", ".9"), (3, b"\0\x0a", ".001"), (6, b"\x0f\x42\x3f", ".999999")):
        shown = f'"1970-01-01T00:00:00{text}Z"'.encode()
        assert render("timestamp_iso", bytes(4) + raw, types.TIMESTAMP2, meta=fsp, nullable=True) == shown


def test_timestamps_of_the_old_format() -> None:
    assert render("timestamp_iso", struct.pack("<I", 1709210096), types.TIMESTAMP) == b'"2024-02-29T12:34:56Z"'
    assert render("timestamp_iso", bytes(4), types.TIMESTAMP, nullable=True) == b"null"
