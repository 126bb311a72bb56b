"""What a client grants the hosts that it asks, without a server."""

from __future__ import annotations

from typing import Any

import pytest
from kazoo.handlers.threading import SequentialThreadingHandler

from replicator.zookeeper.connection import Client, patience


def test_every_host_can_be_asked_before_the_session_is_over() -> None:
    assert [patience(12.0, hosts) for hosts in (1, 2, 3)] == [6.0, 3.0, 2.0]


def test_a_busy_host_has_a_second() -> None:
    assert patience(4.0, 5) == 1.0


def test_no_host_has_the_whole_session_timeout_to_take_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    granted: list[float] = []

    def connect(handler: Any, address: Any, timeout: float, **options: Any) -> None:
        granted.append(timeout)
        raise OSError("cut off")

    monkeypatch.setattr(SequentialThreadingHandler, "create_connection", connect)
    client = Client("127.0.0.1:1,127.0.0.1:2", 12.0)
    with pytest.raises(OSError, match="cut off"):
        client.handler.create_connection(("127.0.0.1", 1), timeout=12.0)
    assert granted == [3.0]
