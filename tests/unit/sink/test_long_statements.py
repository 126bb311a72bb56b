"""Texts of BINLOG statements that are made while they are sent."""

from __future__ import annotations

import binascii
import random
import socket
import threading

import pytest

from replicator.mysql.packets import PacketSocket
from replicator.mysql.statement_text import LongText, joined
from replicator.sink.mysql import row_groups

NOISE = random.Random(1).randbytes(4 << 20)
FULL = 0xFFFFFF


def long_text(*sizes: int) -> tuple[LongText, bytes]:
    """A text of events of these sizes, and what it has to be."""
    events, at = list[bytes](), 0
    for size in sizes:
        events.append(NOISE[at : at + size])
        at += size
    text = row_groups.text(events)
    assert isinstance(text, LongText)
    return text, b"BINLOG '" + binascii.b2a_base64(b"".join(events), newline=False) + b"'"


@pytest.mark.parametrize("first", range(5))
@pytest.mark.parametrize("second", range(5))
@pytest.mark.parametrize("third", [(1 << 20) + 1, (1 << 20) + 2, (1 << 20) + 3, 3 << 18])
def test_events_are_joined_wherever_they_end(first: int, second: int, third: int) -> None:
    text, wanted = long_text(first, second, third, 1, 1, 1 << 20)
    assert b"".join(text.pieces()) == wanted
    assert len(text) == len(wanted) == row_groups.text_size(first + second + third + 2 + (1 << 20))
    assert b"".join(text.pieces()) == wanted, "again"


def test_statements_are_joined() -> None:
    assert joined([b"BEGIN", b"a", b"COMMIT"]) == b"BEGIN;a;COMMIT"
    text, wanted = long_text(2 << 20)
    whole = joined([b"BEGIN", text, b"COMMIT"])
    assert isinstance(whole, LongText)
    assert b"".join(whole.pieces()) == b"BEGIN;" + wanted + b";COMMIT"
    assert len(whole) == len(wanted) + 13


@pytest.mark.parametrize("size", [1, 70_000, FULL - 1, FULL, FULL + 1, 2 * FULL, 2 * FULL + 5])
def test_packets_are_those_of_a_payload(size: int) -> None:
    payload = (NOISE * 9)[:size]
    pieces = [payload[at : at + 700_001] for at in range(0, size, 700_001)]
    found = sent(lambda packets: packets.long_command(size, [b"", *pieces]))
    assert found == sent(lambda packets: packets.command(payload))


def sent(call: object) -> bytes:
    ours, theirs = socket.socketpair()
    packets, parts = PacketSocket(None), list[bytes]()
    packets.sock = ours

    def receive() -> None:
        while part := theirs.recv(1 << 20):
            parts.append(part)

    thread = threading.Thread(target=receive)
    thread.start()
    call(packets)  # type: ignore[operator]
    ours.close()
    thread.join()
    theirs.close()
    return b"".join(parts)
