"""What a way in is made of, and what is no reason to give up: peers that are no brokers, or are going down."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from replicator.config.addresses import addresses
from replicator.sink.kafka import connection_probe
from replicator.sink.kafka.checked_socket import URL
from replicator.sink.kafka.connection_probe import refusal
from replicator.sink.kafka.security import library_settings
from tests.support.numbered import config

SASL = {"user": "bus", "password": "env:OF_THE_BUS"}


@contextlib.contextmanager
def peer(answer: Callable[[socket.socket], object]) -> Iterator[str]:
    """host:port of somebody who takes connections, reads a little, and answers like this."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection, contextlib.suppress(OSError):
                        connection.recv(1024)
                        answer(connection)

        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("tls", [None, {"insecure": True}])
@pytest.mark.parametrize("sasl", [None, SASL])
@pytest.mark.parametrize(
    "answer",
    [
        lambda connection: None,
        lambda connection: connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
        lambda connection: connection.sendall(b"\0\0\0\2\0\0"),
        lambda connection: connection.sendall(b"\0\0\0\x0e\0\0\0\1\0\x21\0\0\0\5\0\xff\xff\xff"),
    ],
    ids=["hangs up", "http", "short", "torn"],
)
def test_a_peer_that_is_no_broker_is_no_refusal(
    monkeypatch: pytest.MonkeyPatch, answer: Callable[[socket.socket], object], tls: object, sasl: object
) -> None:
    """But for TLS where the peer speaks something else: that does not come of itself."""
    monkeypatch.setenv("OF_THE_BUS", "x")
    monkeypatch.setattr(connection_probe, "SECONDS", 0.3)
    with peer(answer) as address:
        found = refusal(config(address, tls=tls, sasl=sasl))
    assert found is None or (tls is not None and found.code == "E3110")


def test_who_is_silent_is_no_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_probe, "SECONDS", 0.2)
    with peer(lambda connection: threading.Event().wait(1)) as address:
        assert refusal(config(address)) is None


def test_the_settings_of_each_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OF_THE_BUS", "geheim")
    checked = {"proxy_url": URL}
    assert library_settings(config("a:1")) == checked | {"security_protocol": "PLAINTEXT"}
    assert library_settings(config("a:1", sasl=SASL)) == checked | {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "bus",
        "sasl_plain_password": "geheim",
    }
    assert library_settings(config("a:1", sasl=SASL, tls={}))["security_protocol"] == "SASL_SSL"
    assert library_settings(config("a:1", tls={}))["security_protocol"] == "SSL"


def test_addresses_with_names_and_of_ip_6() -> None:
    assert list(addresses(("kafka.example:9092", "[::1]:9093", "no-port"))) == [("kafka.example", 9092), ("::1", 9093)]
