"""Which of several servers is read from."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from dev.servers.ports import free_port
from replicator.config.task import MySQLSource as Config
from replicator.errors import PositionGone, ReplicatorError, SourceError, SourceUnavailable
from replicator.mysql.hosts import Hosts, candidates
from replicator.mysql.server import Server
from replicator.mysql.session import Session
from replicator.source.mysql import definition_reader
from replicator.source.mysql.group_member import check_member, hosts_of
from replicator.source.mysql.retention_headroom import retention
from tests.support.present import present


def config(*hosts: str, again: bool = False) -> Config:
    mode = "when_needed" if again else "never"
    return Config(type="mysql", user="u", password="env:P", hosts=hosts, snapshot=mode)


def server(**variables: str) -> Server:
    return Server(False, (9, 7), "u@%", variables)


AWAY = SourceUnavailable("E2001", "does not answer")
BEHIND = SourceError("E2209", "lacks 5-9")


def test_addresses() -> None:
    found = candidates(config("db1:3307", "[::1]:3306"))
    assert [(one.host, one.port) for one in found] == [("db1", 3307), ("::1", 3306)]
    assert candidates(config())[0].host == "127.0.0.1"


def test_hosts_have_no_default_beside_them() -> None:
    """Nor does a session guess: the login went to whatever listens at 127.0.0.1:3306."""
    alone = config("db1:3307", "db2:3306")
    assert (alone.host, alone.port) == (None, None)
    with pytest.raises(ValueError, match="candidates"):
        Session(alone, "secret")


def test_hosts_and_host_are_refused() -> None:
    for given in ({"host": "db1"}, {"port": 3307}, {"host": "127.0.0.1", "port": 3307}):
        with pytest.raises(ValidationError, match="are both given"):
            Config.model_validate({"type": "mysql", "user": "u", "password": "env:P", "hosts": ["db1:1"], **given})
    old = {"host": "127.0.0.1", "port": 3306}  # defaults, as earlier versions wrote them out
    kept = Config.model_validate({"type": "mysql", "user": "u", "password": "env:P", "hosts": ["db1:1"], **old})
    assert [(one.host, one.port) for one in candidates(kept)] == [("db1", 1)]
    with pytest.raises(ValueError, match="is not in"):
        Session(kept, "secret")


def test_definitions_are_read_from_a_named_host() -> None:
    """As all else is that connects."""
    nobody = free_port()
    with pytest.raises(SourceUnavailable) as raised:
        definition_reader.read(config(f"127.0.0.1:{nobody}"), "secret")
    assert f"127.0.0.1:{nobody}" in str(raised.value)


def test_the_first_that_takes_it_is_asked_first_from_then_on() -> None:
    hosts = Hosts(config("a:1", "b:2", "c:3"))
    asked: list[str] = []

    def attempt(member: Config) -> str:
        host = present(member.host)
        asked.append(host)
        if host == "a":
            raise AWAY
        return host

    assert hosts.first(attempt) == "b"
    assert hosts.first(attempt) == "b"
    assert asked == ["a", "b", "b"]
    assert hosts.current.host == "b"


def refused(*errors: ReplicatorError, again: bool = False) -> ReplicatorError:
    names = "abc"[: len(errors)]
    said = dict(zip(names, errors, strict=True))

    def attempt(member: Config) -> None:
        raise said[present(member.host)]

    with pytest.raises(ReplicatorError) as raised:
        hosts_of(config(*(f"{name}:1" for name in names), again=again)).first(attempt)
    return raised.value


def test_what_all_of_them_say() -> None:
    assert refused(BEHIND) is BEHIND
    assert refused(AWAY, BEHIND).transient and "b:1: E2209 lacks 5-9" in refused(AWAY, BEHIND).found
    both = refused(BEHIND, SourceError("E2206", "purged"))
    assert (both.transient, both.code) == (False, "E2209") and "E2206" in both.found


def test_servers_that_have_purged_the_position() -> None:
    gone, reset = PositionGone("E2206", "purged"), PositionGone("E2218", "reset")
    found = refused(gone, reset)
    assert isinstance(found, PositionGone) and found.code == "E2206" and "b:1: E2218 reset" in found.found
    assert refused(gone, AWAY).transient, "it may still have what the other one has purged"
    assert isinstance(refused(AWAY, gone, again=True), PositionGone), "an operator does not want to wait for it"
    assert refused(BEHIND, gone, again=True) is not gone
    assert not isinstance(refused(gone, BEHIND, again=True), PositionGone), "which of the two is the right one?"
    assert refused(AWAY, BEHIND, again=True).transient


def test_only_a_writable_server_with_gtids_of_several() -> None:
    two = config("a:1", "b:2")
    check_member(server(gtid_mode="ON", read_only="OFF"), two)
    check_member(server(gtid_mode="OFF", read_only="ON"), config())
    with pytest.raises(SourceUnavailable):
        check_member(server(gtid_mode="ON", read_only="ON"), two)
    with pytest.raises(SourceError) as error:
        check_member(server(gtid_mode="OFF", read_only="OFF"), two)
    assert error.value.code == "E2210"


def test_retention() -> None:
    assert retention(server(binlog_expire_logs_seconds="86400")) == 86400
    assert retention(server(binlog_expire_logs_seconds="0", expire_logs_days="2.000")) == 172800
    assert retention(server(binlog_expire_logs_seconds="0")) is None
