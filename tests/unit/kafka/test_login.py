"""Logins at a scripted broker, and the sessions that end (KIP-368)."""

from __future__ import annotations

import threading
import time

import pytest

from replicator.kafka import wire
from replicator.kafka.connection import Connection
from replicator.kafka.sasl import Bearer, Password, TokenUnavailable
from replicator.kafka.security import Security
from tests.support.driving import connect, ready, until
from tests.support.scripted_broker import ALL_VERSIONS, Conversation, ScriptedBroker

USER, SECRET = "bus", "s3cret"
PLAIN = Password("PLAIN", USER, SECRET)
KEY, VERSION = 3, 12


def send(connection: Connection, *, token: object = None) -> None:
    connection.send(KEY, VERSION, (b"body",), flexible=True, token=token, now=time.monotonic())


def log_in(client: Conversation, *, lifetime_ms: int = 0) -> bytes:
    """What was shown for it."""
    client.handshake("PLAIN", "OAUTHBEARER")
    request, shown = client.token()
    client.authenticated(request, lifetime_ms=lifetime_ms)
    return shown


def test_plain() -> None:
    shown: list[bytes] = []

    def play(client: Conversation) -> None:
        shown.append(log_in(client.greet()))
        client.closed_by()

    with ScriptedBroker(play) as broker:
        connection = ready(connect(broker, Security(sasl=PLAIN)))
        assert connection.failure is None
        connection.close()
    assert shown == [f"\0{USER}\0{SECRET}".encode()]


@pytest.mark.parametrize(
    ("code", "offered", "said"),
    [(33, ("SCRAM-SHA-256", "GSSAPI"), "by PLAIN"), (34, (), "accepts no logins")],
)
def test_a_login_that_the_listener_does_not_take(code: int, offered: tuple[str, ...], said: str) -> None:
    with ScriptedBroker(lambda client: client.greet().handshake(*offered, code=code)) as broker:
        failure = ready(connect(broker, Security(sasl=PLAIN))).failure
    assert failure is not None and (failure.kind, failure.final, failure.code) == ("authentication", True, code)
    assert failure.mechanisms == offered and said in str(failure)


def test_a_wrong_password() -> None:
    def play(client: Conversation) -> None:
        client.greet()
        client.handshake("PLAIN")
        request, _ = client.token()
        client.authenticated(request, code=58, message="Authentication failed: \x1b[31mInvalid")

    with ScriptedBroker(play) as broker:
        failure = ready(connect(broker, Security(sasl=PLAIN))).failure
    assert failure is not None and (failure.kind, failure.final, failure.code) == ("authentication", True, 58)
    assert str(failure) == "Authentication failed: ?[31mInvalid"


def test_what_passes_is_not_final() -> None:
    def play(client: Conversation) -> None:
        client.greet()
        client.handshake("PLAIN")
        request, _ = client.token()
        client.authenticated(request, code=-1)

    with ScriptedBroker(play) as broker:
        failure = ready(connect(broker, Security(sasl=PLAIN))).failure
    assert failure is not None and failure.kind == "authentication" and not failure.final


def test_a_broker_without_session_lifetimes() -> None:
    versions = {**ALL_VERSIONS, 36: (0, 0)}
    with ScriptedBroker(lambda client: (log_in(client.greet(versions)), client.closed_by())) as broker:
        connection = ready(connect(broker, Security(sasl=PLAIN)))
        assert connection.failure is None
        connection.close()


def test_a_token_that_takes_its_time() -> None:
    """Nothing blocks meanwhile; `wake` says when it is there."""
    come = threading.Event()
    woken = threading.Event()

    def token() -> str:
        assert come.wait(10)
        return "t0ken"

    shown: list[bytes] = []

    def play(client: Conversation) -> None:
        shown.append(log_in(client.greet()))
        client.closed_by()

    with ScriptedBroker(play) as broker:
        connection = connect(broker, Security(sasl=Bearer(token, {"traceId": "7"})), wake=woken.set)
        begun = time.monotonic()
        until(connection, lambda _: time.monotonic() > begun + 0.2)
        assert not connection.ready and not woken.is_set()
        come.set()
        assert woken.wait(10)
        ready(connection)
        assert connection.failure is None
        connection.close()
    assert shown == [b"n,,\1auth=Bearer t0ken\1traceId=7\1\1"]


def test_a_refused_token() -> None:
    def play(client: Conversation) -> None:
        client.greet()
        client.handshake("OAUTHBEARER")
        request, _ = client.token()
        client.authenticated(request, b'{"status":"invalid_token"}')
        request, last = client.token()
        assert last == b"\1"
        client.authenticated(request, code=58, message="invalid_token")

    with ScriptedBroker(play) as broker:
        failure = ready(connect(broker, Security(sasl=Bearer(lambda: "t0ken")))).failure
    assert failure is not None and failure.final and failure.code == 58 and "t0ken" not in str(failure)


@pytest.mark.parametrize("final", [True, False])
def test_no_token(final: bool) -> None:
    def token() -> str:
        raise TokenUnavailable("the command ended with status 1", final=final)

    with ScriptedBroker(lambda client: client.greet().closed_by()) as broker:
        failure = ready(connect(broker, Security(sasl=Bearer(token)))).failure
    assert failure is not None and (failure.kind, failure.final) == ("authentication", final)


def test_a_fault_in_the_source_of_tokens() -> None:
    def token() -> str:
        raise ZeroDivisionError("with a t0ken in its text")

    with ScriptedBroker(lambda client: client.greet().closed_by()) as broker:
        failure = ready(connect(broker, Security(sasl=Bearer(token)))).failure
    assert failure is not None and "t0ken" not in str(failure) and "ZeroDivisionError" in str(failure)


def test_a_session_is_continued_by_another_login() -> None:
    """With requests on their way: their replies come, and no request leaves before the login has ended."""
    release = threading.Event()
    shown: list[bytes] = []

    def play(client: Conversation) -> None:
        client.greet()
        shown.append(log_in(client, lifetime_ms=600))
        first = client.request(flexible=True)
        # The connection asks for another login while the first request waits.
        handshake = client.request()
        assert handshake.key == 17
        assert release.wait(10)
        client.reply(first, b"one", flexible=True)
        client.reply(handshake, wire.int16(0) + wire.int32(0))
        request, again = client.token()
        shown.append(again)
        client.authenticated(request, lifetime_ms=60_000)
        second = client.request(flexible=True)
        client.reply(second, b"two", flexible=True)

    tokens = iter(("first", "second"))
    with ScriptedBroker(play) as broker:
        connection = ready(connect(broker, Security(sasl=Bearer(lambda: next(tokens)))))
        begun = time.monotonic()
        assert 0.4 < connection.deadline - begun < 0.6
        send(connection, token=1)
        until(connection, lambda _: not connection.ready)
        assert time.monotonic() - begun > 0.4 and connection.unanswered == 1
        release.set()
        (reply,) = until(connection, len)
        assert bytes(reply.body) == b"one"
        ready(connection)
        send(connection, token=2)
        assert [bytes(reply.body) for reply in until(connection, len)] == [b"two"]
        assert connection.failure is None
        connection.close()
    assert [b"first" in shown[0], b"second" in shown[1]] == [True, True]


def test_a_token_that_can_not_be_had_does_not_end_a_living_session() -> None:
    times = []

    def token() -> str:
        times.append(time.monotonic())
        if len(times) == 2:
            raise TokenUnavailable("the command ended with status 1")
        return "t0ken"

    def play(client: Conversation) -> None:
        client.greet()
        log_in(client, lifetime_ms=300)
        request = client.request(flexible=True)
        client.reply(request, b"meanwhile", flexible=True)
        log_in(client)
        client.closed_by()

    with ScriptedBroker(play) as broker:
        connection = ready(connect(broker, Security(sasl=Bearer(token))))
        until(connection, lambda _: len(times) == 2)
        send(connection, token=1)
        assert until(connection, len)
        until(connection, lambda _: len(times) == 3)
        ready(connection)
        assert connection.failure is None
        connection.close()


def test_a_session_whose_login_is_refused_ends() -> None:
    def play(client: Conversation) -> None:
        client.greet()
        log_in(client, lifetime_ms=100)
        client.handshake("PLAIN")
        request, _ = client.token()
        client.authenticated(request, code=58, message="revoked")

    with ScriptedBroker(play) as broker:
        connection = ready(connect(broker, Security(sasl=PLAIN)))
        until(connection, lambda _: False)
        assert connection.failure is not None and str(connection.failure) == "revoked"


def test_nobody_shows_a_secret() -> None:
    assert SECRET not in repr(Security(sasl=PLAIN)) and "t0ken" not in repr(Bearer(lambda: "t0ken"))
