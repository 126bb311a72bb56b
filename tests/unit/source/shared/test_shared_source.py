"""How often a task asks for a shared stream, and how long it stays away from one that it has left; who may share."""

from __future__ import annotations

import pytest

from replicator.config.load import parse_task
from replicator.mysql.server import Server
from replicator.source.mysql import MySQLSource
from replicator.source.shared.source import SharedSource
from replicator.source.shared.terms import Terms, replica_id, terms

TERMS = Terms("k", "db:3306", "r", "binlog.000001", 4)
SERVER = Server(False, (8, 4), "r@%", {"server_uuid": "u-1", "binlog_checksum": "CRC32"})


def config(**source):
    made = {"type": "mysql", "host": "db", "port": 3306, "user": "r", "password": "env:P", "share": "auto", **source}
    return parse_task({"name": "t", "source": made, "sink": {"type": "stdout"}}).database


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def rig():
    clock = Clock()
    asked: list[Terms] = []
    notes: list[str] = []
    source = SharedSource(MySQLSource(config(), "t", "p"), asked.append, notes.append, clock)
    return source, clock, asked, notes


def test_it_asks_now_and_then_until_it_has_an_answer(rig):
    source, clock, asked, _ = rig
    assert source._find(TERMS) == "" and source._find(TERMS) == ""
    assert asked == [TERMS]
    clock.now += 6
    source._find(TERMS)
    assert len(asked) == 2
    source.offer("other", "there")
    source.offer("k", "here")
    clock.now += 6
    assert source._find(TERMS) == "here"
    assert len(asked) == 2


def test_a_slow_task_stays_away_longer_each_time(rig):
    source, clock, _, notes = rig
    source.offer("k", "here")
    pauses = []
    for _ in range(7):
        source._left("slow", True)
        began = clock.now
        while not source._find(TERMS):
            clock.now += 1
        pauses.append(clock.now - began)
    assert pauses == [10, 20, 40, 80, 120, 120, 120]
    assert notes == ["slow"] * 7
    clock.now += 1000
    source._left("slow", True)
    clock.now += 10
    assert source._find(TERMS) == "here"


def test_a_relay_that_is_gone_is_forgotten(rig):
    source, clock, asked, _ = rig
    source.offer("k", "here")
    source._left("the relay has ended", False)
    clock.now += 3
    assert source._find(TERMS) == ""
    assert asked == [TERMS]


def key(server: Server = SERVER, password: str = "p", statements: bool = False, **source) -> str:  # noqa: S107
    return terms(config(**source), password, server, ("binlog.000001", 4), statements=statements).key


def test_what_a_task_selects_does_not_matter_and_what_the_server_sends_does():
    same = key()
    assert key(tables=["shop.*"], skip_replicated="all", start="earliest", server_id=5) == same
    assert key(password="other") != same
    assert key(user="other") != same
    assert key(port=3307) != same
    assert key(heartbeat_s=1) != same
    assert key(tls={"ca": "/ca.pem"}) != same
    uuid = Server(False, (8, 4), "r@%", {**SERVER.variables, "server_uuid": "u-2"})
    assert key(uuid) != same
    assert key(Server(False, (8, 4), "r@%", {**SERVER.variables, "binlog_checksum": "NONE"})) != same
    assert key(statements=True) == same  # MySQL sends what it logs
    maria = Server(True, (11, 4), "r@%", {"server_id": "1"})
    assert key(maria, statements=True) != key(maria)


def test_the_key_of_the_replica_id_has_no_password_in_it():
    first, second = (terms(config(), password, SERVER, ("f.1", 4)) for password in ("one", "two"))
    assert first.replica == second.replica
    assert replica_id("here", "host-a", first.replica) != replica_id("here", "host-b", first.replica)
    assert replica_id("here", "host-a", first.replica) >= 1 << 31
