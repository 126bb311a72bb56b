"""Connections of tasks: what is compared with the lists is what is connected to."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from replicator.errors import ConfigError
from replicator.host import access
from replicator.net import connections
from replicator.net.outgoing import literal


class Listener:
    """Counts the connections that it gets."""

    def __init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.socket.getsockname()[1]

    def count(self) -> int:
        found = 0
        self.socket.setblocking(False)
        while True:
            try:
                self.socket.accept()[0].close()
                found += 1
            except BlockingIOError:
                return found


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener()
    with made.socket:
        yield made


@pytest.fixture(autouse=True)
def no_cluster_list() -> Iterator[None]:
    yield
    connections.set_cluster_list(None)


def allow(monkeypatch: pytest.MonkeyPatch, entries: str) -> None:
    monkeypatch.setenv(access.ALLOW_OUTGOING, entries)


def resolver(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> list[str]:
    """Answers one look-up of a name after the other; returns what was asked for."""
    asked: list[str] = []
    original = socket.getaddrinfo

    def look_up(host: str, port: int, *rest: Any, **named: Any) -> list[Any]:
        if literal(host) is not None:
            return original(host, port, *rest, **named)
        answer = answers[min(len(asked), len(answers) - 1)]
        asked.append(host)
        return [
            (socket.AF_INET6 if ":" in each else socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port))
            for each in answer
        ]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return asked


def refused(host: str, port: int) -> ConfigError:
    with pytest.raises(ConfigError) as error:
        connections.connect(host, port, 5)
    assert error.value.code == "E1050"
    return error.value


@pytest.mark.parametrize("entries", ["", "  "])
def test_without_a_list_everything_is_allowed(
    monkeypatch: pytest.MonkeyPatch, listener: Listener, entries: str
) -> None:
    allow(monkeypatch, entries)
    connections.connect("127.0.0.1", listener.port, 5).close()
    assert listener.count() == 1
    assert not connections.is_limited()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST", "0177.0.0.1", "127.1", "2130706433", "0x7f.1"])
def test_this_host_is_refused_in_each_form_and_never_reached(
    monkeypatch: pytest.MonkeyPatch, listener: Listener, host: str
) -> None:
    connections.connect(host, listener.port, 5).close()
    assert listener.count() == 1  # it would be reached
    allow(monkeypatch, "10.0.0.0/8 *.example.com")
    refused(host, listener.port)
    assert listener.count() == 0
    allow(monkeypatch, f"127.0.0.0/8:{listener.port}")
    connections.connect(host, listener.port, 5).close()
    assert listener.count() == 1


def test_a_name_that_changes_its_address_is_looked_up_once(monkeypatch: pytest.MonkeyPatch, listener: Listener) -> None:
    """DNS rebinding: the address that was compared is connected to, whatever the name has a moment later."""
    allow(monkeypatch, "127.0.0.1")
    asked = resolver(monkeypatch, ["127.0.0.1"], ["203.0.113.9"])
    connections.connect("db.example.com", listener.port, 5).close()
    assert (len(asked), listener.count()) == (1, 1)
    assert refused("db.example.com", listener.port).found == "db.example.com is 203.0.113.9"


def test_a_listed_name_does_not_lead_to_this_host(monkeypatch: pytest.MonkeyPatch, listener: Listener) -> None:
    allow(monkeypatch, "db.example.com")
    resolver(monkeypatch, ["127.0.0.1", "::ffff:127.0.0.1", "169.254.169.254"])
    refused("db.example.com", listener.port)
    assert listener.count() == 0


def test_allowed_addresses_of_a_name_are_used_and_the_others_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    allow(monkeypatch, "10.0.0.0/8")
    resolver(monkeypatch, ["203.0.113.9", "10.0.0.1", "2001:db8::1"])
    assert [each.sockaddr[0] for each in connections.resolve("db.example.com", 3306)] == ["10.0.0.1"]


def test_a_name_that_no_entry_can_permit_is_not_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    allow(monkeypatch, "db.example.com 10.0.0.0/8:9092")
    asked = resolver(monkeypatch, ["10.0.0.1"])
    refused("secret.attacker.example", 3306)
    assert asked == []


def test_both_lists_have_to_permit_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    allow(monkeypatch, "10.0.0.0/8")
    resolver(monkeypatch, ["10.1.0.1", "10.2.0.1"])
    connections.set_cluster_list(("10.2.0.0/16", "203.0.113.0/24"))
    assert [each.sockaddr[0] for each in connections.resolve("db", 1)] == ["10.2.0.1"]
    connections.set_cluster_list(("203.0.113.0/24",))
    assert "of the cluster" in refused("db", 1).what
    connections.set_cluster_list(("none",))
    assert "of the cluster" in refused("db", 1).what
    connections.set_cluster_list(None)
    allow(monkeypatch, "none")
    assert "of this host" in refused("db", 1).what


@pytest.mark.parametrize("entries", [(), ("*",), ("none", "db1")])
def test_a_list_that_nobody_understands_permits_nothing(entries: tuple[str, ...], listener: Listener) -> None:
    connections.set_cluster_list(entries)
    with pytest.raises(ConfigError) as error:
        connections.connect("127.0.0.1", listener.port, 5)
    assert error.value.code == "E1051"
    assert listener.count() == 0


def test_each_address_is_tried(monkeypatch: pytest.MonkeyPatch, listener: Listener) -> None:
    allow(monkeypatch, "127.0.0.0/8")
    closed = socket.create_server(("127.0.0.2", 0))
    closed.close()
    resolver(monkeypatch, ["127.0.0.2", "127.0.0.1"])
    connections.connect("db", listener.port, 5).close()
    assert listener.count() == 1
    resolver(monkeypatch, [])
    with pytest.raises(OSError, match="no address"):
        connections.connect("db", listener.port, 5)
