"""The source is not what it was: another primary, another reader, frozen, rotated, purged."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

import pymysql
import pytest

from dev.cluster import wait_for
from dev.servers import MySQL
from dev.servers.replication import await_caught_up, follow, promote
from replicator.config.task import MySQLSource as SourceConfig
from replicator.errors import SourceError
from replicator.source.mysql import MySQLSource
from tests.failover.bus import Bus
from tests.support.present import present

pytestmark = pytest.mark.timeout(240)
MakeBus = Callable[..., Bus]
MakeMySQL = Callable[..., MySQL]


def delivered(bus: Bus) -> str:
    """The GTIDs that have been delivered."""
    return present(present(bus.look().last_commit).checkpoint).position.gtid


def group(make_mysql: MakeMySQL, *extra: str) -> tuple[MySQL, MySQL]:
    """A primary and its replica."""
    primary, replica = make_mysql(server_id=901, extra_args=extra), make_mysql(server_id=902, extra_args=extra)
    follow(replica, primary)
    return primary, replica


def hand_over(bus: Bus, primary: MySQL, replica: MySQL) -> None:
    """A promotion as tools do it: the old primary is made read-only, and the other one has everything."""
    primary.execute("SET GLOBAL super_read_only = ON")
    await_caught_up(replica, primary)
    promote(replica)
    bus.writer.move(replica)


def test_36_the_promoted_replica_is_read_from(make_bus: MakeBus, make_mysql: MakeMySQL) -> None:
    primary, replica = group(make_mysql)
    bus = make_bus(database=primary, source={"hosts": [primary.address, replica.address]})
    hand_over(bus, primary, replica)
    bus.database = replica
    primary.kill()
    bus.wait_delivered(80, timeout=60)
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)
    uuids = {part.split(":")[0] for part in delivered(bus).split(",")}
    assert len(uuids) >= 2, "transactions of both servers are in the position"


def test_36_a_replica_that_lacks_what_was_delivered_is_refused(make_bus: MakeBus, make_mysql: MakeMySQL) -> None:
    primary, replica = group(make_mysql)
    bus = make_bus(database=primary, source={"hosts": [primary.address, replica.address], "connect_timeout_s": 2})
    replica.execute("STOP REPLICA IO_THREAD")
    bus.wait_delivered(50)
    primary.kill()
    promote(replica)
    figures = wait_for(lambda: _waiting(bus, "E2209"), "the refusal to be shown", 60)
    assert replica.address in figures and "lacks transactions" in figures
    commit = bus.look().last_commit
    assert commit is not None and commit.checkpoint is not None
    delivered = commit.checkpoint.position.gtid
    lacking = str(replica.execute(f"SELECT GTID_SUBTRACT('{delivered}', @@GLOBAL.gtid_executed)")[0][0])
    assert lacking and lacking in figures, "the difference"
    quiet = len(bus.seen())
    time.sleep(2)
    assert len(bus.seen()) == quiet
    primary.start()  # the lost branch is back
    bus.wait_delivered(30, timeout=60)
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)


def _waiting(bus: Bus, code: str) -> str:
    figures = bus.look().figures
    text = str(figures.retrying) if figures and figures.retrying else ""
    return text if code in text else ""


def test_37_file_positions_say_nothing_about_another_server(make_mysql: MakeMySQL) -> None:
    extra = ("--gtid-mode=OFF", "--enforce-gtid-consistency=OFF")
    one, other = make_mysql(server_id=903, extra_args=extra), make_mysql(server_id=904, extra_args=extra)
    config = SourceConfig(
        type="mysql", user="replicator", password="env:X", hosts=(one.address, other.address), connect_timeout_s=5
    )
    source = MySQLSource(config, "copy", "replicator")
    with pytest.raises(SourceError) as error:
        source.start_position()
    assert error.value.code == "E2210" and "source.hosts" in error.value.wanted


def test_37_another_server_at_the_same_address(make_bus: MakeBus, make_mysql: MakeMySQL) -> None:
    """The configuration is the same; the address has moved. The remedy that the error names ends it."""
    extra = ("--gtid-mode=OFF", "--enforce-gtid-consistency=OFF")
    primary = make_mysql(server_id=903, extra_args=extra)
    bus = make_bus(database=primary)
    bus.wait_delivered(50)
    bus.writer.stop()
    primary.kill()
    other = make_mysql(server_id=904, extra_args=extra, port=primary.port)
    other.execute("CREATE DATABASE unrelated")
    problem = bus.failed(60)
    assert problem["code"] == "E2218" and "position set" in problem["fix"], problem
    file, offset = other.end_of_log()
    bus.cluster.cli("task", "position", "set", bus.name, "--file", str(file), "--offset", str(offset), "--yes")
    bus.cluster.cli("task", "retry", bus.name)
    bus.wait_running()
    commit = wait_for(lambda: _origin(bus), "the position to name the server", 30)
    assert commit.startswith(str(other.execute("SELECT @@server_uuid")[0][0]))


def _origin(bus: Bus) -> str:
    commit = bus.look().last_commit
    assert commit is not None and commit.checkpoint is not None
    return commit.checkpoint.position.server


def test_38_another_reader_with_our_id_is_named(make_bus: MakeBus, make_mysql: MakeMySQL) -> None:
    """By the address that the binlog is sent to where our account has PROCESS, else by how it registered."""
    server = make_mysql()
    bus = make_bus(database=server, source={"server_id": 4711}, session_seconds=6.0)
    user, password = server.replicator
    server.execute(f"CREATE USER other IDENTIFIED BY '{password}'")  # whose threads only PROCESS shows to ours
    server.execute("GRANT REPLICATION SLAVE, REPLICATION CLIENT, SELECT ON *.* TO other")
    where = {"host": server.host, "port": server.port, "user": "other", "password": "env:X", "server_id": 4711}
    stranger = MySQLSource(SourceConfig(type="mysql", **where), "stranger", password)
    for granted in (True, False):
        server.execute(f"GRANT PROCESS ON *.* TO {user}" if granted else f"REVOKE PROCESS ON *.* FROM {user}")
        stream = stranger.open(stranger.start_position())
        try:
            problem = bus.failed(30)
        finally:
            stream.close()
        assert problem["code"] == "E2207" and "replicator:stranger" in problem["found"], problem
        assert ("binlog is sent to 127.0.0.1:" in problem["found"]) == granted, problem
        bus.cluster.cli("task", "retry", bus.name)
        bus.wait_running()
    bus.wait_delivered(50)
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)


def test_32_a_frozen_source_is_noticed_and_nobody_fails_over(make_bus: MakeBus, make_mysql: MakeMySQL) -> None:
    server = make_mysql()
    bus = make_bus(database=server, source={"connect_timeout_s": 2})
    before = bus.look()
    server.pause()
    began = time.monotonic()
    try:
        wait_for(lambda: _waiting(bus, "E200"), "the silence to be noticed", 30)
        assert time.monotonic() - began < 2 * 1.0 + 3  # 2 heartbeats, and the way of the message to where we look
        time.sleep(2 * bus.session_seconds)
    finally:
        server.resume()
    bus.wait_delivered(50, timeout=60)
    assert (bus.look().host, bus.look().epoch) == (before.host, before.epoch)
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)


def test_33_dump_connections_are_killed(make_bus: MakeBus) -> None:
    bus = make_bus()
    for _ in range(5):
        for row in bus.database.execute("SHOW PROCESSLIST"):
            if str(row[4]).startswith("Binlog Dump"):
                with contextlib.suppress(pymysql.err.OperationalError):  # one that has ended meanwhile
                    bus.database.execute(f"KILL {row[0]}")
        time.sleep(0.4)
    bus.wait_delivered(50)
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)


def test_34_the_binlog_is_rotated_again_and_again(make_bus: MakeBus) -> None:
    bus = make_bus()
    for _ in range(12):
        bus.database.execute("FLUSH BINARY LOGS")
        time.sleep(0.15)
    bus.wait_delivered(50)
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)


def test_35_purged_while_nobody_read(make_bus: MakeBus, make_mysql: MakeMySQL) -> None:
    server = make_mysql()
    bus = make_bus(database=server)
    bus.cluster.cli("task", "pause", bus.name)
    wait_for(lambda: bus.look().state == "paused", "paused", 20)
    time.sleep(1)  # rows that nobody has read
    server.execute("FLUSH BINARY LOGS")
    last = str(server.execute("SHOW BINARY LOGS")[-1][0])
    server.execute(f"PURGE BINARY LOGS TO '{last}'")
    bus.cluster.cli("task", "resume", bus.name)
    problem = bus.failed(30)
    before = delivered(bus)
    gap = str(server.execute(f"SELECT GTID_SUBTRACT(@@GLOBAL.gtid_purged, '{before}')")[0][0])
    assert problem["code"] == "E2206" and gap and f"would be lost: {gap}" in problem["what"], problem
    seen = bus.seen()
    verdict = bus.verdict_until(seen)
    assert verdict.clean and verdict.delivered == len(seen) > 0, str(verdict)


def test_retention_headroom_is_shown(make_bus: MakeBus) -> None:
    bus = make_bus()
    wait_for(lambda: (figures := bus.look().figures) and figures.retention_headroom_s, "the retention headroom", 30)
    retention = float(bus.database.execute("SELECT @@GLOBAL.binlog_expire_logs_seconds")[0][0])
    figures = bus.look().figures
    assert figures is not None and figures.retention_headroom_s == retention
    assert "Retention headroom:" in bus.cluster.cli("task", "describe", bus.name)
