"""Encrypted connections to a scripted broker."""

from __future__ import annotations

import ssl
import threading
import time
from pathlib import Path

import pytest

from dev.servers.authority import Authority
from replicator.kafka.connection import Connection
from replicator.kafka.security import PLAINTEXT, Security
from tests.support.driving import connect, ready, until
from tests.support.scripted_broker import Conversation, ScriptedBroker

KEY, VERSION = 3, 12


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"), "ours")


@pytest.fixture
def server(authority: Authority) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.leaf("127.0.0.1"))
    return context


@pytest.fixture
def client(authority: Authority) -> ssl.SSLContext:
    return trusting(authority.ca)


def trusting(ca: Path | None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=ca)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def send(connection: Connection, *body: bytes, token: object = None) -> None:
    connection.send(KEY, VERSION, body, flexible=True, token=token, now=time.monotonic())


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_large_requests_and_replies(server: ssl.SSLContext, client: ssl.SSLContext, version: ssl.TLSVersion) -> None:
    """Small pieces beside large ones, more than the socket takes at once; replies are read meanwhile."""
    client.minimum_version = client.maximum_version = version
    pieces = [b"a" * 10, b"b" * 3_000_000, b"c", b"d" * 70_000, *[b"e" * n for n in range(200)], b"f" * 4_000_000]
    answered = threading.Event()

    def play(peer: Conversation) -> None:
        peer.greet()
        first = peer.request(flexible=True)
        peer.reply(first, b"y" * 2_000_000, flexible=True)
        assert answered.wait(10)
        second = peer.request(flexible=True)
        assert second.body == b"".join(pieces)
        peer.reply(second, b"z", flexible=True)
        peer.closed_by()

    with ScriptedBroker(play, tls=server) as broker:
        connection = connect(broker, Security(client))
        fd = connection.fd
        ready(connection)
        assert connection.fd == fd, "registered once"
        send(connection, b"small", token=1)
        send(connection, *pieces, token=2)
        assert connection.unsent > 0
        (reply,) = until(connection, len)
        assert reply.token == 1 and bytes(reply.body) == b"y" * 2_000_000 and connection.unsent > 0
        answered.set()
        assert [reply.token for reply in until(connection, len)] == [2] and connection.unsent == 0
        assert connection.certificate.version() == version.name.replace("_", ".")
        connection.close()


def test_a_certificate_of_somebody_else(server: ssl.SSLContext) -> None:
    with ScriptedBroker(lambda peer: peer.greet(), tls=server) as broker:
        failure = ready(connect(broker, Security(trusting(None)))).failure
    assert failure is not None and (failure.kind, failure.final) == ("tls", True)
    assert failure.reason == "CERTIFICATE_VERIFY_FAILED" and "issuer" in str(failure)


def test_a_certificate_for_another_name(authority: Authority, client: ssl.SSLContext) -> None:
    other = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    other.load_cert_chain(*authority.leaf("127.0.0.9"))
    with ScriptedBroker(lambda peer: peer.greet(), tls=other) as broker:
        failure = ready(connect(broker, Security(client))).failure
    assert failure is not None and failure.final and "127.0.0.1" in str(failure)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_broker_that_wants_our_certificate(
    authority: Authority, server: ssl.SSLContext, client: ssl.SSLContext, version: ssl.TLSVersion
) -> None:
    """With TLS 1.3 it says so after our side of the handshake."""
    server.verify_mode = ssl.CERT_REQUIRED
    server.load_verify_locations(authority.ca)
    client.maximum_version = version
    with ScriptedBroker(lambda peer: peer.greet().closed_by(), tls=server) as broker:
        failure = ready(connect(broker, Security(client))).failure
        assert failure is not None
        assert (failure.kind, failure.final) == ("tls", True) and "ALERT" in failure.reason, failure
        client.load_cert_chain(*authority.leaf("192.0.2.7"))
        connection = ready(connect(broker, Security(client)))
        assert connection.failure is None
        connection.close()


def test_tls_at_a_plain_port(client: ssl.SSLContext) -> None:
    """What a broker does: it closes, as the first bytes are no length that it takes."""
    with ScriptedBroker(lambda peer: None) as broker:
        failure = ready(connect(broker, Security(client))).failure
    assert failure is not None and not failure.final and failure.kind in ("tls", "closed")


def test_no_tls_at_an_encrypted_port(server: ssl.SSLContext) -> None:
    with ScriptedBroker(lambda peer: peer.greet(), tls=server) as broker:
        failure = ready(connect(broker, PLAINTEXT)).failure
    assert failure is not None and failure.kind in ("tls", "closed")
    if failure.kind == "tls":
        assert failure.final and "only encrypted connections" in str(failure)


def test_a_handshake_that_hangs_times_out(client: ssl.SSLContext) -> None:
    with ScriptedBroker(lambda peer: peer.closed_by()) as broker:
        failure = ready(connect(broker, Security(client), connect_timeout=0.3)).failure
    assert failure is not None and failure.kind == "timeout"


def test_tls_that_has_to_write_before_it_reads(
    server: ssl.SSLContext, client: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked again once it can write, and not over and over afterwards."""
    with ScriptedBroker(lambda peer: peer.greet().closed_by(), tls=server) as broker:
        connection = ready(connect(broker, Security(client)))
        tries: list[object] = []

        def receive(buffer: object) -> int:
            tries.append(buffer)
            raise ssl.SSLWantWriteError if len(tries) == 1 else ssl.SSLWantReadError

        monkeypatch.setattr(connection.certificate, "recv_into", receive)
        connection.advance(readable=True, writable=False, now=time.monotonic())
        assert connection.wants_write
        connection.advance(readable=False, writable=True, now=time.monotonic())
        assert len(tries) == 2 and not connection.wants_write and connection.failure is None
        connection.close()


def test_an_orderly_end(server: ssl.SSLContext, client: ssl.SSLContext) -> None:
    def play(peer: Conversation) -> None:
        peer.greet()
        peer.request(flexible=True)
        assert isinstance(peer.socket, ssl.SSLSocket)
        peer.socket.unwrap()

    with ScriptedBroker(play, tls=server) as broker:
        connection = ready(connect(broker, Security(client)))
        send(connection, b"x", token=1)
        until(connection, lambda _: False)
        assert connection.failure is not None and connection.failure.kind == "closed"
        assert connection.abandoned() == [1]
