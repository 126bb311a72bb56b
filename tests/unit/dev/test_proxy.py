"""Each verb, with an echo server behind the proxy."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from dev.faults.proxy import Direction, Proxy
from dev.servers.ports import free_port


@pytest.fixture
def echo() -> Iterator[int]:
    port = free_port()
    listener = socket.create_server(("127.0.0.1", port))

    def talk(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            while data := connection.recv(65536):
                connection.sendall(data)

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=talk, args=(connection,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    yield port
    listener.close()


@pytest.fixture
def proxy(echo: int) -> Iterator[Proxy]:
    with Proxy(echo) as proxy:
        yield proxy


def connected(proxy: Proxy, timeout: float = 5.0) -> socket.socket:
    return socket.create_connection(("127.0.0.1", proxy.port), timeout)


def test_it_passes_what_comes(proxy: Proxy) -> None:
    with connected(proxy) as client:
        client.sendall(b"hello")
        assert client.recv(10) == b"hello"
    assert (proxy.passed("up"), proxy.passed("down")) == (5, 5)


@pytest.mark.parametrize("direction", ["both", "up", "down"])
def test_a_black_hole_holds_back_and_gives_again(proxy: Proxy, direction: Direction) -> None:
    with connected(proxy, 0.3) as client:
        proxy.black_hole(direction)
        client.sendall(b"one")
        with pytest.raises(TimeoutError):
            client.recv(10)
        assert proxy.passed("up") == (3 if direction == "down" else 0)
        client.settimeout(5)
        proxy.pass_()
        assert client.recv(10) == b"one"


def test_delay_and_throttle_take_their_time(proxy: Proxy) -> None:
    with connected(proxy) as client:
        proxy.delay(0.2, "up")
        began = time.monotonic()
        client.sendall(b"x")
        assert client.recv(1) == b"x"
        assert time.monotonic() - began >= 0.2
        proxy.pass_()
        proxy.throttle(10_000, "down")
        began = time.monotonic()
        client.sendall(b"y" * 3000)
        left = 3000
        while left:
            left -= len(client.recv(4096))
        assert time.monotonic() - began >= 0.29


def test_reset_ends_connections_and_takes_new_ones(proxy: Proxy) -> None:
    with connected(proxy) as client:
        client.sendall(b"x")
        client.recv(1)
        proxy.reset()
        with pytest.raises(ConnectionResetError):
            client.recv(1)
    with connected(proxy) as client:
        client.sendall(b"x")
        assert client.recv(1) == b"x"


def test_refused_until_it_passes_again(proxy: Proxy) -> None:
    proxy.refuse()
    with pytest.raises(OSError), connected(proxy) as client:
        client.sendall(b"x")
        if not client.recv(1):
            raise ConnectionResetError
    proxy.pass_()
    with connected(proxy) as client:
        client.sendall(b"x")
        assert client.recv(1) == b"x"


def test_cut_after_so_many_bytes_happens_once(proxy: Proxy) -> None:
    with connected(proxy) as client:
        proxy.cut_after(4, "down")
        client.sendall(b"1234")
        assert client.recv(4) == b"1234"
        client.sendall(b"5")
        with pytest.raises(ConnectionResetError):
            client.recv(1)
    with connected(proxy) as client:
        client.sendall(b"x" * 10)
        assert client.recv(1) == b"x"


def test_cut_before_what_is_waited_for_happens_once_and_is_counted(proxy: Proxy) -> None:
    with connected(proxy) as client:
        proxy.cut_before(b"two", "down")
        client.sendall(b"one")
        assert client.recv(3) == b"one" and proxy.cuts("down") == 0
        client.sendall(b"a two")
        with pytest.raises(ConnectionResetError):
            client.recv(1)
    assert (proxy.cuts("down"), proxy.cuts("up")) == (1, 0)
    with connected(proxy) as client:
        client.sendall(b"two")
        assert client.recv(3) == b"two"


def test_one_connection_is_held_before_what_it_carries_and_others_are_not(proxy: Proxy) -> None:
    with connected(proxy, 0.3) as held, connected(proxy) as other:
        hold = proxy.hold_before(b"stop")
        held.sendall(b"go")
        assert held.recv(10) == b"go" and not hold.reached
        held.sendall(b"now stop")
        hold.wait(5)
        with pytest.raises(TimeoutError):
            held.recv(10)
        other.sendall(b"stop")
        assert other.recv(10) == b"stop", "it holds once"
        held.settimeout(5)
        hold.release()
        assert held.recv(10) == b"now stop"
        released = proxy.hold_before(b"stop", "down")
        proxy.pass_()
        other.sendall(b"stop")
        assert other.recv(10) == b"stop" and not released.reached
        with pytest.raises(TimeoutError, match="stop"):
            released.wait(0.01)
