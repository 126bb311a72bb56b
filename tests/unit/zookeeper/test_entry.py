"""What a server's refusal to answer a greeting means, without a server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from kazoo.exceptions import ConnectionDropped, SessionExpiredError
from kazoo.protocol.serialization import Connect

from replicator.zookeeper.connection import Entry

OURS = Connect(0, 500, 4000, 77, b"secret", False)


class Servers:
    """`admits` says of a greeting whether it is answered."""

    def __init__(self, admits: Callable[[Any], bool]) -> None:
        self.admits = admits
        self.asked: list[Any] = []

    def __call__(self, request: Any) -> str:
        self.asked.append(request)
        if not self.admits(request):
            raise ConnectionDropped("socket connection broken")
        return "welcome"


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        self.now += 0.5
        return self.now


def ask(entry: Entry, servers: Servers) -> str:
    try:
        return str(entry.ask(servers, OURS, 1))
    except ConnectionDropped:
        return "dropped"


def test_who_is_answered_keeps_the_session() -> None:
    servers = Servers(lambda request: True)
    entry = Entry(4.0, Clock())
    assert [ask(entry, servers) for _ in range(5)] == ["welcome"] * 5
    assert servers.asked == [OURS] * 5


def test_without_a_quorum_nobody_is_let_in_and_the_session_is_kept_however_long() -> None:
    servers = Servers(lambda request: False)
    entry = Entry(4.0, Clock())
    assert {ask(entry, servers) for _ in range(200)} == {"dropped"}
    servers.admits = lambda request: True
    assert "welcome" in [ask(entry, servers) for _ in range(2)]
    assert servers.asked[-1] == OURS


def test_who_saw_more_than_the_servers_know_begins_anew() -> None:
    servers = Servers(lambda request: request.last_zxid_seen == 0)
    entry = Entry(4.0, Clock())
    with pytest.raises(SessionExpiredError):
        for _ in range(50):
            ask(entry, servers)
    strangers = [request for request in servers.asked if request != OURS]
    assert {(one.session_id, one.passwd) for one in strangers} == {(0, bytes(16))}
    assert ask(entry, Servers(lambda request: True)) == "welcome", "the next one is patient anew"


def test_one_server_that_lags_is_no_reason() -> None:
    """Of three servers, asked in turn, one knows less."""
    servers = Servers(lambda request: request.last_zxid_seen == 0 or len(servers.asked) % 3 != 0)
    entry = Entry(0.0, Clock())
    assert {ask(entry, servers) for _ in range(100)} <= {"dropped", "welcome"}
