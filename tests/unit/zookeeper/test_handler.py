"""Greetings that pass through the handler's sockets, at a server that the test plays."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Iterator

import pytest
from kazoo.exceptions import ConnectionDropped, SessionExpiredError
from kazoo.handlers.threading import KazooTimeoutError

from replicator.host.addresses import HostPort
from replicator.zookeeper.attempts import Attempts
from replicator.zookeeper.entry import Entry
from replicator.zookeeper.handler import GreetingSocket, Handler

SESSION = 77


def answer(timeout_ms: int) -> bytes:
    body = struct.pack(">iiqi16s?", 0, timeout_ms, SESSION, 16, b"secret", False)
    return struct.pack(">i", len(body)) + body


class Rig:
    def __init__(self, patience: float) -> None:
        self.entry = Entry(patience, 1)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.attempts = Attempts([HostPort(*self.listener.getsockname())], probe=lambda host, port: False)
        self.handler = Handler(self.entry, 4.0, self.attempts)
        self.handler.seconds = 0.5
        self.listener.settimeout(3)

    def connect(self) -> tuple[GreetingSocket, socket.socket]:
        made = self.handler.create_connection(self.listener.getsockname(), timeout=4.0)
        made.settimeout(3)
        assert isinstance(made, GreetingSocket)
        return made, self.listener.accept()[0]

    def hang_up(self, *, by_reset: bool = False) -> None:
        """At an attempt of ours."""
        ours, theirs = self.connect()
        with ours, theirs:
            if by_reset:
                theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            theirs.close()
            try:
                assert ours.recv(4) == b""
            except ConnectionError:
                assert by_reset

    def admit(self, timeout_ms: int = 4000) -> None:
        ours, theirs = self.connect()
        with ours, theirs:
            theirs.sendall(answer(timeout_ms))
            ours.recv(4)
            ours.recv(37)


@pytest.fixture
def rig() -> Iterator[Rig]:
    made = Rig(0.0)
    with made.listener:
        yield made


def test_the_answer_is_noted_in_pieces_and_passes_unchanged(rig: Rig) -> None:
    ours, theirs = rig.connect()
    with ours, theirs:
        whole, got = answer(2500), b""
        for at in range(len(whole)):
            assert ours.answered is (at >= 20)
            theirs.sendall(whole[at : at + 1])
            got += ours.recv(1)
        assert got == whole
        assert rig.handler.negotiated == 2.5


def test_an_answer_without_a_session_does_not_count_as_a_timeout(rig: Rig) -> None:
    rig.admit()
    rig.admit(0)
    assert rig.handler.negotiated == 4.0


def test_only_a_greeting_has_less_time(rig: Rig) -> None:
    ours, theirs = rig.connect()
    with ours, theirs:
        began = time.monotonic()
        assert rig.handler.select([ours], [], [], 30.0) == ([], [], [])
        assert 0.4 < time.monotonic() - began < 10
        theirs.sendall(answer(4000))
        ours.recv(41)
        began = time.monotonic()
        rig.handler.select([ours], [], [], 1.0)
        assert time.monotonic() - began > 0.9


@pytest.mark.parametrize("by_reset", [False, True])
def test_who_is_barred_while_strangers_are_let_in_begins_again(rig: Rig, by_reset: bool) -> None:
    rig.admit()
    with pytest.raises(SessionExpiredError):
        for _ in range(10):
            rig.hang_up(by_reset=by_reset)
            with pytest.raises(ConnectionDropped):
                stranger(rig, answer(4000))
    rig.hang_up()  # without a session nobody asks as a stranger


def stranger(rig: Rig, said: bytes) -> None:
    """The next attempt, which is one, and is answered with `said`."""
    heard: list[bytes] = []

    def serve() -> None:
        with contextlib.suppress(TimeoutError), rig.listener.accept()[0] as theirs:
            theirs.settimeout(3)
            heard.append(theirs.recv(100))
            theirs.sendall(said)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        rig.handler.create_connection(rig.listener.getsockname(), timeout=4.0)
    finally:
        thread.join()
        (greeting,) = heard
        assert struct.unpack(">iiqiqi16s?", greeting) == (45, 0, 0, 4000, 0, 16, bytes(16), False)


def test_a_stranger_that_is_refused_asks_as_one_again(rig: Rig) -> None:
    rig.admit()
    rig.hang_up()
    for _ in range(3):
        with pytest.raises(ConnectionError):
            stranger(rig, b"")
    with pytest.raises(ConnectionDropped):
        stranger(rig, answer(4000))
    rig.admit()


def test_an_end_after_the_greeting_is_no_refusal(rig: Rig) -> None:
    for _ in range(5):
        ours, theirs = rig.connect()
        with ours, theirs:
            theirs.sendall(answer(4000))
            ours.recv(41)
            theirs.close()
            assert ours.recv(4) == b""
    assert not rig.entry.as_stranger()


def test_what_tls_has_decrypted_already_is_read_without_waiting(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system knows nothing of it: a wait would last until the next ping."""
    ours, theirs = rig.connect()
    with ours, theirs:
        ours.answered = True
        monkeypatch.setattr(ours, "pending", lambda: 5)
        began = time.monotonic()
        assert rig.handler.select([ours], [], [], 30.0) == ([ours], [], [])
        assert time.monotonic() - began < 10


@pytest.mark.parametrize("said", [b"", struct.pack(">iiqi", 16, 1, 7, -115)])
def test_a_refused_login_is_a_timeout_and_not_the_end(rig: Rig, said: bytes) -> None:
    """kazoo ends its loop at AuthFailedError."""
    ours, theirs = rig.connect()
    with ours, theirs:
        theirs.sendall(answer(4000))
        ours.recv(41)
        ours.send(struct.pack(">iii", 8, 1, 102))
        theirs.sendall(said) if said else theirs.shutdown(socket.SHUT_WR)
        with pytest.raises(KazooTimeoutError):
            ours.recv(20)
        assert rig.attempts.code == "E4030"
