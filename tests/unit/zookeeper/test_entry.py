"""What a server's refusal to answer a greeting means, without a server."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from kazoo.exceptions import SessionExpiredError

from replicator.zookeeper.entry import Entry


class Servers:
    """`admits` says whether a greeting is answered: of a stranger, or of us."""

    def __init__(self, admits: Callable[[bool], bool]) -> None:
        self.admits = admits
        self.strangers: list[bool] = []

    def asked(self, stranger: bool) -> bool:
        self.strangers.append(stranger)
        return self.admits(stranger)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        self.now += 0.5
        return self.now


def made(patience: float = 4.0) -> Entry:
    """Of somebody who has a session."""
    entry = Entry(patience, 1, Clock())
    entry.answered(True)
    return entry


def ask(entry: Entry, servers: Servers) -> str:
    """One attempt, as the handler makes it."""
    if entry.as_stranger():
        if servers.asked(True):
            entry.let_in()
        return "dropped"
    if servers.asked(False):
        entry.answered(True)
        return "welcome"
    entry.refused()
    return "dropped"


def test_who_is_answered_keeps_the_session() -> None:
    servers, entry = Servers(lambda stranger: True), made()
    assert [ask(entry, servers) for _ in range(5)] == ["welcome"] * 5
    assert servers.strangers == [False] * 5


def test_without_a_quorum_nobody_is_let_in_and_the_session_is_kept_however_long() -> None:
    servers, entry = Servers(lambda stranger: False), made()
    assert {ask(entry, servers) for _ in range(200)} == {"dropped"}
    servers.admits = lambda stranger: True
    assert "welcome" in [ask(entry, servers) for _ in range(2)]
    assert not servers.strangers[-1]


def test_who_saw_more_than_the_servers_know_begins_anew() -> None:
    servers, entry = Servers(lambda stranger: stranger), made()
    with pytest.raises(SessionExpiredError):
        for _ in range(50):
            ask(entry, servers)
    assert servers.strangers.count(True) == 3
    later = Servers(lambda stranger: stranger)
    assert {ask(entry, later) for _ in range(50)} == {"dropped"}, "without a session nobody asks as a stranger"
    assert ask(entry, Servers(lambda stranger: True)) == "welcome"


def test_one_server_that_lags_is_no_reason() -> None:
    """Of three servers, asked in turn, one knows less."""
    servers, entry = Servers(lambda stranger: stranger or len(servers.strangers) % 3 != 0), made(0.0)
    assert {ask(entry, servers) for _ in range(100)} <= {"dropped", "welcome"}
