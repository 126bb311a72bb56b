"""Packets over the socket that PyMySQL works on, against a peer that the test plays."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator

import pymysql
import pytest

from replicator.mysql.packets import FILE_PACKET, PacketSocket

FULL = 0xFFFFFF


@pytest.fixture
def ends() -> Iterator[tuple[PacketSocket, socket.socket]]:
    """Ours, with its reader, and the server's."""
    packets = PacketSocket(None)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ours = packets.open("127.0.0.1", listener.getsockname()[1], 3)
        theirs, _ = listener.accept()
    ours.settimeout(3)
    theirs.settimeout(3)
    with theirs, ours, ours.makefile("rb"):
        yield packets, theirs


def packet(payload: bytes, number: int = 0) -> bytes:
    return len(payload).to_bytes(3, "little") + bytes((number,)) + payload


def heard(server: socket.socket) -> list[tuple[int, int]]:
    """Length and number of each packet of a command."""
    found: list[tuple[int, int]] = []
    with server.makefile("rb") as reader:
        while not found or found[-1][0] == FULL:
            head = reader.read(4)
            found.append((int.from_bytes(head[:3], "little"), head[3]))
            reader.read(found[-1][0])
    return found


@pytest.mark.parametrize(
    ("size", "wanted"),
    [(0, [0]), (1, [1]), (FULL - 1, [FULL - 1]), (FULL, [FULL, 0]), (2 * FULL + 5, [FULL, FULL, 5])],
)
def test_long_commands_go_on_in_the_next_packet(
    ends: tuple[PacketSocket, socket.socket], size: int, wanted: list[int]
) -> None:
    packets, server = ends
    for _ in range(2):  # a command begins the sequence again
        sender = threading.Thread(target=packets.command, args=(bytes(size),))
        sender.start()
        assert heard(server) == list(zip(wanted, range(3), strict=False))
        sender.join()


def test_a_reply_has_the_number_after_that_of_the_answer(ends: tuple[PacketSocket, socket.socket]) -> None:
    packets, server = ends
    for last, following in ((2, 3), (255, 0)):
        server.sendall(packet(b"\1\4", last))
        assert packets.receive() == b"\1\4"
        packets.reply(b"x")
        assert heard(server) == [(1, following)]


def test_an_answer_that_the_reader_held_and_one_in_pieces(ends: tuple[PacketSocket, socket.socket]) -> None:
    packets, server = ends
    server.sendall(packet(b"\1\3") + packet(b"\0ok"))
    assert packets.receive() == b"\1\3"
    assert packets.reader.peek() == packet(b"\0ok")
    assert packets.receive() == b"\0ok"
    whole = packet(b"\0" + b"x" * 100_000)

    def send() -> None:
        for at in range(0, len(whole), 999):
            server.sendall(whole[at : at + 999])

    sender = threading.Thread(target=send)
    sender.start()
    assert packets.receive() == whole[4:]
    sender.join()


@pytest.mark.parametrize(
    ("payload", "wanted"),
    [
        (b"\xff" + struct.pack("<H", 1045) + b"#28000denied", (1045, "denied")),
        (b"\xff" + struct.pack("<H", 1040) + b"Too many connections", (1040, "Too many connections")),
        (b"\xff" + struct.pack("<H", 1045) + b"#28000\xff", (1045, "\ufffd")),
        (b"\xff\1", (2027, "malformed packet: an error without a number")),
        (b"", (2027, "malformed packet: an answer of 0 bytes")),
    ],
)
def test_errors(ends: tuple[PacketSocket, socket.socket], payload: bytes, wanted: tuple[int, str]) -> None:
    packets, server = ends
    server.sendall(packet(payload))
    with pytest.raises(pymysql.err.OperationalError) as raised:
        packets.receive()
    assert raised.value.args == wanted


def test_an_answer_of_16_mb_is_not_waited_for(ends: tuple[PacketSocket, socket.socket]) -> None:
    packets, server = ends
    server.sendall(b"\xff\xff\xff\0")
    with pytest.raises(pymysql.err.OperationalError, match="16777215 bytes"):
        packets.receive()


@pytest.mark.parametrize("sent", [b"", b"\5\0", packet(b"hello")[:-1]])
def test_a_server_that_is_gone(ends: tuple[PacketSocket, socket.socket], sent: bytes) -> None:
    packets, server = ends
    server.sendall(sent)
    server.shutdown(socket.SHUT_WR)
    with pytest.raises(ConnectionError):
        packets.receive()


def test_a_server_that_says_nothing(ends: tuple[PacketSocket, socket.socket]) -> None:
    packets, _ = ends
    packets.sock.settimeout(0.05)
    with pytest.raises(TimeoutError):
        packets.receive()


def test_before_the_client_library_reads() -> None:
    with pytest.raises(ConnectionError):
        PacketSocket(None).receive()


@pytest.mark.parametrize("sizes", [[], [0, 5], [FILE_PACKET, 3], [FILE_PACKET + 1, FILE_PACKET * 2]])
def test_a_file_goes_on_behind_the_answer_that_asked_for_it(
    ends: tuple[PacketSocket, socket.socket], sizes: list[int]
) -> None:
    """In packets that each server takes, of which an empty one is the last."""
    packets, server = ends
    server.sendall(packet(b"\xfbname", 7))
    assert packets.receive() == b"\xfbname"
    sender = threading.Thread(target=packets.file, args=([bytes(size) for size in sizes],))
    sender.start()
    found: list[tuple[int, int]] = []
    with server.makefile("rb") as reader:
        while not found or found[-1][0]:
            head = reader.read(4)
            found.append((int.from_bytes(head[:3], "little"), head[3]))
            reader.read(found[-1][0])
    sender.join()
    assert sum(size for size, _ in found) == sum(sizes)
    assert max(size for size, _ in found) <= FILE_PACKET
    assert [number for _, number in found] == list(range(8, 8 + len(found)))
