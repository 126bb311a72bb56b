"""The socket side of a stream, over a socket pair."""

from __future__ import annotations

import socket
import struct
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

from replicator.errors import SourceUnavailable
from replicator.model.position import Position
from replicator.source.mysql.stream import MySQLStream


def pair(silence: float = 30.0, patience: float = 0.0, held: bytes = b"") -> tuple[MySQLStream, socket.socket]:
    """A stream and the server's end. `held`: sent before, and already in the buffered reader of the client library."""
    ours, theirs = socket.socketpair()
    reader = ours.makefile("rb")
    if held:
        theirs.sendall(b"!" + held)
        assert reader.read(1) == b"!"
    session: Any = SimpleNamespace(packets=SimpleNamespace(sock=ours, reader=reader), where="db:1", user="u")
    return MySQLStream(session, Position("binlog.000001", 4), silence, patience), theirs


def test_bytes_that_the_client_library_held_come_first() -> None:
    stream, server = pair(held=b"first")
    server.sendall(b"second")
    assert stream.read(1) + stream.read(1) == b"firstsecond"
    stream.close()
    server.close()


def test_nothing_is_held_and_nothing_is_there() -> None:
    stream, server = pair()
    began = time.monotonic()
    assert stream.read(0.1) == b""
    assert 0.09 < time.monotonic() - began < 1
    assert stream.read(0) == b""
    stream.close()
    server.close()


def test_large_pieces() -> None:
    stream, server = pair()
    data = bytes(range(256)) * 8192
    sender = threading.Thread(target=server.sendall, args=(data,))
    sender.start()
    got = bytearray()
    while len(got) < len(data):
        piece = stream.read(5)
        assert 0 < len(piece) <= 1 << 20
        got += piece
    sender.join()
    assert bytes(got) == data
    stream.close()
    server.close()


def test_silence_is_a_lost_connection() -> None:
    stream, server = pair(silence=0.2)
    assert stream.read(0.05) == b""
    began = time.monotonic()
    with pytest.raises(SourceUnavailable) as raised:
        stream.read(30)
    assert raised.value.code == "E2002"
    assert 0.1 < time.monotonic() - began < 1
    stream.close()
    server.close()


def test_a_byte_ends_the_silence() -> None:
    stream, server = pair(silence=0.3)
    for _ in range(4):
        assert stream.read(0.2) == b""
        server.sendall(b"x")
        assert stream.read(0.2) == b"x"
    stream.close()
    server.close()


def test_the_first_answer_may_take_longer() -> None:
    stream, server = pair(silence=0.05, patience=0.4)
    assert stream.read(0.2) == b""
    with pytest.raises(SourceUnavailable):
        stream.read(30)
    stream.close()
    server.close()


def test_the_server_closes() -> None:
    stream, server = pair()
    server.sendall(b"last")
    server.close()
    assert stream.read(1) == b"last"
    with pytest.raises(SourceUnavailable):
        stream.read(1)
    stream.close()


def test_close_during_a_read_and_many_at_once() -> None:
    stream, server = pair()
    ended: list[str] = []

    def read() -> None:
        try:
            stream.read(30)
        except SourceUnavailable as error:
            ended.append(error.found)

    reader = threading.Thread(target=read)
    reader.start()
    time.sleep(0.05)
    closers = [threading.Thread(target=stream.close) for _ in range(5)]
    for closer in closers:
        closer.start()
    for thread in [*closers, reader]:
        thread.join(2)
        assert not thread.is_alive()
    assert ended == ["this process closed the stream"]
    assert stream._socket.fileno() == -1  # the descriptor is given back
    server.close()


def test_a_connection_that_is_cut_before_the_first_read_is_lost() -> None:
    """Between the command and the first event: nothing was in the buffer of the client library yet."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        ours = socket.create_connection(listening.getsockname())
        theirs, _ = listening.accept()
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    theirs.close()  # with RST
    packets = SimpleNamespace(sock=ours, reader=ours.makefile("rb"))
    session: Any = SimpleNamespace(packets=packets, where="db:1", user="u")
    with pytest.raises(SourceUnavailable) as caught:
        MySQLStream(session, Position("binlog.000001", 4), 30.0, 0.0)
    assert caught.value.code == "E2002"
    ours.close()
