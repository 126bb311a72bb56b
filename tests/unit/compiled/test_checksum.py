"""CRC-32 as events are checked with it: by carry-less multiplication, and from tables."""

from __future__ import annotations

import platform
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies

from replicator import compiled

LONGEST = 2000
START = strategies.integers(0, 0xFFFFFFFF)


WAYS = pytest.mark.parametrize("way", [True, False, None], ids=["folded", "sliced", "usual"])
CPU = Path("/proc/cpuinfo")


def _loop() -> Any:
    return compiled.module("loop")


@WAYS
def test_every_length_at_every_alignment(way: bool | None) -> None:
    raw = bytes((17 * at * at + 3 * at + 89) >> 3 & 0xFF for at in range(LONGEST + 16))
    checksum = _loop().checksum
    for size in range(LONGEST + 1):
        first = size * 7 & 15
        assert checksum(raw[: first + size], first, 0, way) == zlib.crc32(raw[first : first + size]), (size, first)
    for size in range(70):
        for first in range(16):
            assert checksum(raw[: first + size], first, 0, way) == zlib.crc32(raw[first : first + size]), (size, first)


@WAYS
@given(data=strategies.binary(max_size=LONGEST), first=strategies.integers(0, 15), start=START)
def test_any_bytes_from_any_value_on(way: bool | None, data: bytes, first: int, start: int) -> None:
    raw = bytes(first) + data
    assert _loop().checksum(raw, first, start, way) == zlib.crc32(data, start)


@WAYS
@given(one=strategies.binary(max_size=100), other=strategies.binary(max_size=100))
def test_one_piece_behind_the_other(way: bool | None, one: bytes, other: bytes) -> None:
    checksum = _loop().checksum
    assert checksum(other, 0, checksum(one, 0, 0, way), way) == zlib.crc32(one + other)


@pytest.mark.parametrize("first", [-1, 4])
def test_nothing_is_read_outside(first: int) -> None:
    with pytest.raises(IndexError):
        _loop().checksum(b"abc", first)


@pytest.mark.skipif(platform.machine() != "x86_64" or not CPU.exists(), reason="Linux on x86-64 tells what it has")
def test_it_is_folded_where_the_machine_can() -> None:
    assert _loop().folds() == ("pclmulqdq" in CPU.read_text())
