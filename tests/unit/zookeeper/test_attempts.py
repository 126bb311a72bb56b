"""Why there is no connection, in words: names, refusals, silence, a server without a quorum."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from replicator.errors import NotConnected
from replicator.host.addresses import HostPort
from replicator.zookeeper.attempts import CLOSED, SILENT, Attempts
from replicator.zookeeper.client import connect
from tests.unit.zookeeper.test_handler import Rig, rig

__all__ = ["rig"]


def names(host: str, port: int) -> list[str]:
    if host == "gone":
        raise socket.gaierror(-2, "Name or service not known")
    return ["10.0.0.1", "::1"] if host == "both" else ["10.0.0.2"]


def test_each_server_has_its_reason() -> None:
    attempts = Attempts([HostPort("both", 1), HostPort("gone", 2), HostPort("other", 3)], names)
    attempts.failed(("10.0.0.1", 1), "connection refused")
    attempts.failed(("::1", 1, 0, 0), "connection refused")
    assert attempts.reasons() == (
        "both:1: connection refused; gone:2: the name cannot be resolved (Name or service not known); "
        "other:3: no attempt has ended yet"
    )
    attempts.connected()
    assert "refused" not in attempts.reasons()


def test_a_refused_connection(rig: Rig) -> None:
    address = rig.listener.getsockname()
    rig.listener.close()
    with pytest.raises(ConnectionRefusedError):
        rig.handler.create_connection(address, timeout=4.0)
    assert rig.attempts.reasons().endswith(": connection refused")


def test_a_server_that_hangs_up(rig: Rig) -> None:
    rig.hang_up()
    assert rig.attempts.reasons().endswith(CLOSED)
    rig.admit()
    assert not rig.attempts.reasons().endswith(CLOSED)


def test_a_server_that_is_silent(rig: Rig) -> None:
    ours, theirs = rig.connect()
    with ours, theirs:
        rig.handler.select([ours], [], [], 30.0)
    assert rig.attempts.reasons().endswith(SILENT)


def test_a_connection_that_takes_too_long(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*given: Any, **options: Any) -> None:
        raise TimeoutError("timed out")

    monkeypatch.setattr(socket, "create_connection", slow)
    with pytest.raises(TimeoutError):
        rig.connect()
    assert rig.attempts.reasons().endswith(": no answer within 0.5 s")


def test_a_failed_connect_says_why() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    with pytest.raises(NotConnected, match="connection refused"):
        connect(address, 2.0, wait=1.0)
