"""Connections that write at once: what the socket does not take follows in order, and errors end them later."""

from __future__ import annotations

import logging
import socket
import ssl
from collections.abc import Iterator
from typing import Any

import pytest
from kafka.net.selector import NetworkSelector
from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport

from replicator.sink.kafka.sockets import QuietSelector
from replicator.sink.kafka.transports import EagerTLSTransport, EagerTransport, hasten


class Protocol:
    """What a transport tells."""

    _sensors = None

    def __init__(self) -> None:
        self.lost: list[Any] = []

    def connection_lost(self, error: Any) -> None:
        self.lost.append(error)


@pytest.fixture
def net() -> Iterator[Any]:
    made = NetworkSelector(selector=QuietSelector)
    yield made
    made.close()


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16 << 10)
    theirs.settimeout(5)
    yield ours, theirs
    ours.close()
    theirs.close()


@pytest.fixture
def transport(net: Any, pair: tuple[socket.socket, socket.socket]) -> Any:
    made = KafkaTCPTransport(net, pair[0])
    made.set_protocol(Protocol())
    hasten(made)
    return made


def _read(net: Any, theirs: socket.socket, size: int) -> bytes:
    """While the loop comes around."""
    found = b""
    while len(found) < size:
        for _ in range(2):  # it asks, then it writes
            net.poll(timeout_ms=0)
        found += theirs.recv(1 << 16)
    return found


def test_it_leaves_without_the_loop(transport: Any, pair: tuple[socket.socket, socket.socket]) -> None:
    transport.write(b"first ")
    transport.writelines([b"second ", memoryview(b"third")])
    assert pair[1].recv(100) == b"first second third"
    assert not transport._writing


def test_what_does_not_fit_follows_in_order(
    net: Any, transport: Any, pair: tuple[socket.socket, socket.socket]
) -> None:
    large = bytes(range(256)) * 4096
    transport.write(b"a")
    transport.writelines([large, b"b"])
    assert transport._writing
    transport.write(b"c")
    transport.writelines([b"d", large])
    assert _read(net, pair[1], 4 + 2 * len(large)) == b"a" + large + b"bcd" + large
    assert not transport._writing
    transport.write(b"at once again")
    assert pair[1].recv(100) == b"at once again"


def test_an_error_ends_the_connection_when_the_loop_comes_around(
    net: Any, transport: Any, pair: tuple[socket.socket, socket.socket], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, "kafka")
    pair[1].close()
    protocol = transport.get_protocol()
    transport.write(b"lost")
    assert not protocol.lost, "not in the middle of the request that is being written"
    transport.write(b"nor tried again")
    net.poll(timeout_ms=0)
    assert len(protocol.lost) == 1
    assert "Broken pipe" in str(protocol.lost[0])


def test_a_closed_one_refuses(transport: Any) -> None:
    transport.close()
    with pytest.raises(RuntimeError, match="closed"):
        transport.write(b"x")
    with pytest.raises(RuntimeError, match="closed"):
        transport.writelines([b"x"])


def test_nothing_can_not_be_written(transport: Any) -> None:
    with pytest.raises(ValueError, match="empty"):
        transport.write(b"")


def test_only_the_librarys_own_are_hastened(net: Any, pair: tuple[socket.socket, socket.socket]) -> None:
    class Another(KafkaTCPTransport):  # type: ignore[misc]
        pass

    another = Another(net, pair[0])
    hasten(another)
    assert type(another) is Another
    secured = KafkaSSLTransport(net, pair[0].dup(), host="kafka.example", ssl_context=ssl.create_default_context())
    hasten(secured)
    assert type(secured) is EagerTLSTransport
    secured._sock.close()
    assert issubclass(EagerTransport, KafkaTCPTransport)
