"""The selector that kafka-python gets from us."""

from __future__ import annotations

import selectors
import socket

import pytest
from kafka.net.inet import KafkaNetSocket

from replicator.sink.kafka.sockets import ClosingSocket, QuietSelector


class Loud(socket.socket):
    def __repr__(self) -> str:
        raise AssertionError("nobody asked")


def test_a_socket_that_is_not_registered_is_not_described() -> None:
    with QuietSelector() as selector, Loud() as unknown:
        with pytest.raises(KeyError):
            selector.get_key(unknown)
        selector.register(unknown, selectors.EVENT_READ, "data")
        assert selector.get_key(unknown).data == "data"
        assert selector.get_key(unknown.fileno()).fileobj is unknown
        assert selector.unregister(unknown).data == "data"


def test_a_closed_socket_is_an_error_as_ever() -> None:
    with QuietSelector() as selector, selectors.DefaultSelector() as plain:
        closed = socket.socket()
        closed.close()
        for each in (selector, plain):
            with pytest.raises((KeyError, ValueError)):
                each.get_key(closed)


def test_a_connection_ends_with_a_reset(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the kernel drops what it has not sent, instead of delivering it behind what a later session delivered."""

    async def connect(
        self: object, net: object, sock: socket.socket, address: object, timeout_at: object = None
    ) -> None:
        sock.connect(address)

    monkeypatch.setattr(KafkaNetSocket, "sock_connect", connect)
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as ours:
        step = ClosingSocket.sock_connect(object.__new__(ClosingSocket), None, ours, server.getsockname())
        with pytest.raises(StopIteration):
            step.send(None)
        peer, _ = server.accept()
        with peer:
            peer.settimeout(10)
            ours.close()
            with pytest.raises(ConnectionResetError):
                peer.recv(1)
