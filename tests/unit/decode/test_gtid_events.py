"""What GTID events say beside the GTID."""

from __future__ import annotations

import struct

import pytest

from replicator.decode.binlog import gtid_events
from replicator.errors import DecodeError

COMMIT = 1_700_000_000_000_000


@pytest.mark.parametrize(
    ("behind", "length"),
    [
        (b"", 0),
        (b"\x00", 0),
        (b"\xfa", 250),
        (b"\xfb", 0),  # NULL
        (b"\xfc\xfb\x00", 251),
        (b"\xfc\xfb", 0),
        (b"\xfd\x00\x00\x01", 1 << 16),
        (b"\xfe" + struct.pack("<Q", 5 << 30), 5 << 30),
        (b"\xff", 0),
    ],
)
@pytest.mark.parametrize("original", [False, True])
def test_the_length_of_a_transaction(behind: bytes, length: int, *, original: bool) -> None:
    times = (COMMIT | original << 55).to_bytes(7, "little") + COMMIT.to_bytes(7, "little") * original
    body = bytes(17) + struct.pack("<qBqq", 9, 2, 1, 2) + times + behind
    assert gtid_events.mysql(body, 0, len(body)) == (bytes(16), 9, COMMIT, length)


def test_servers_before_8_0_say_nothing_of_it() -> None:
    body = bytes(17) + struct.pack("<qBqq", 9, 2, 1, 2)
    assert gtid_events.mysql(body, 0, len(body)) == (bytes(16), 9, 0, 0)


def test_mysql_5_6_knows_no_clock() -> None:
    body = bytes(17) + struct.pack("<q", 9)
    assert gtid_events.mysql(body, 0, len(body)) == (bytes(16), 9, 0, 0)


@pytest.mark.parametrize("size", [0, 24, 26, 41])
def test_other_sizes_are_damage(size: int) -> None:
    with pytest.raises(DecodeError, match="E2302"):
        gtid_events.mysql(bytes(size), 0, size)
