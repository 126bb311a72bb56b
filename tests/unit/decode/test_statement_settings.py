"""Status variables of QUERY events, as both servers write them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from replicator.decode.binlog.statement_settings import read
from replicator.model.metadata_event import StatementSettings

FLAGS = b"\x00" + (1 << 26).to_bytes(4, "little")
MODE = b"\x01" + (4).to_bytes(8, "little")
CATALOG = b"\x06\x03std"
FIXED = b"\x03" + bytes(4) + b"\x04" + bytes(6)
ZONE = b"\x05\x03UTC"
MORE = b"\x07" + bytes(2) + b"\x08" + bytes(2) + b"\x09" + bytes(8) + b"\x0a" + bytes(4)
INVOKER = b"\x0b\x04root\x09localhost"
FRACTION = (229635).to_bytes(3, "little")
FOUND = StatementSettings(4, "UTC", False, 229635)


def test_mysql() -> None:
    names = b"\x0c\x02shop\x00\x00"
    assert read(FLAGS + MODE + CATALOG + FIXED + ZONE + MORE + INVOKER + names + b"\x0d" + FRACTION) == FOUND
    assert read(FLAGS + MODE + ZONE + b"\x0c\xfe" + b"\x0d" + FRACTION) == FOUND, "too many databases to name"


def test_mariadb() -> None:
    collations = b"\x83\x02" + bytes(8)
    assert read(FLAGS + MODE + CATALOG + FIXED + collations + ZONE + MORE + INVOKER + b"\x80" + FRACTION) == FOUND


def test_what_is_behind_an_unknown_variable_is_not_known() -> None:
    assert read(FLAGS + b"\xff" + MODE) == StatementSettings(0, "", False)


@given(st.binary(max_size=60))
def test_any_bytes(status: bytes) -> None:
    read(status)


@given(st.integers(0, 80))
def test_truncated(size: int) -> None:
    read((FLAGS + MODE + ZONE + MORE + INVOKER + b"\x0c\x02shop\x00a\x00" + b"\x0d" + FRACTION)[:size])
