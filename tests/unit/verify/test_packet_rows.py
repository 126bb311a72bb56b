"""Packets of an answer become values, however they are cut by the reads of the socket."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.errors import SourceError
from replicator.model import types
from replicator.mysql.prepared import Answer
from replicator.verify.packet_rows import packets, parser

EOF = b"\xfe\0\0\x02\0"


class FakeAnswer:
    """Gives the bytes of an answer in pieces."""

    def __init__(self, payloads: list[bytes], pieces: Callable[[int], int]) -> None:
        self.data = b"".join(_framed(payload) for payload in payloads)
        self.pieces, self.closed = pieces, False

    def receive_into(self, view: memoryview) -> int:
        size = min(len(view), max(1, self.pieces(len(self.data))), len(self.data))
        view[:size], self.data = self.data[:size], self.data[size:]
        return size

    def close(self) -> None:
        self.closed = True

    def failed(self, payload: bytes) -> SourceError:
        return SourceError("E2211", payload.hex())


def _framed(payload: bytes) -> bytes:
    out, full = b"", 0xFFFFFF
    for at in range(0, len(payload) + 1, full):
        piece = payload[at : at + full]
        out += len(piece).to_bytes(3, "little") + b"\0" + piece
    return out


def taken(answer: FakeAnswer) -> list[bytes]:
    return [packet for some in packets(cast(Answer, answer)) for packet in some]


@given(st.lists(st.binary(min_size=0, max_size=30), max_size=20), st.integers(1, 40))
def test_packets_arrive_in_any_pieces(values: list[bytes], piece: int) -> None:
    payloads = [b"\0" + value for value in values]
    answer = FakeAnswer([*payloads, EOF], lambda _: piece)
    assert taken(answer) == payloads
    assert answer.closed


@pytest.mark.parametrize("size", [(1 << 18) + 5, 0xFFFFFF - 1, 0xFFFFFF, 0xFFFFFF + 10])
def test_long_packets_are_joined(size: int) -> None:
    payloads = [b"\0" + b"x" * (size - 1), b"\0short"]
    assert taken(FakeAnswer([*payloads, EOF], lambda _: 1 << 20)) == payloads


def test_an_error_behind_rows_is_raised() -> None:
    with pytest.raises(SourceError):
        taken(FakeAnswer([b"\0row", b"\xff\x01\x02#HY000killed"], lambda _: 7))


def test_values_are_split_and_integers_widened() -> None:
    parse = parser([types.TINY, types.LONG, types.VAR_STRING, types.DOUBLE], [True, False, None, None])
    packet = b"\0" + bytes([0b001000]) + b"\xff" + b"\x03abc" + b"\0" * 8
    assert parse(packet) == (b"\xff" * 8, None, b"abc", b"\0" * 8)
    packet = b"\0\0" + b"\x05" + b"\xff\xff\xff\xff" + b"\x00" + b"\x01" * 8
    assert parse(packet) == (b"\x05" + b"\0" * 7, b"\xff" * 4 + b"\0" * 4, b"", b"\x01" * 8)
