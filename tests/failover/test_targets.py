"""Tasks that write to a database server, whose leader or target goes away under load; then both servers are equal."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dev.cluster import wait_for
from dev.servers import Database, MariaDB, MySQL, ZooKeeper, replication
from tests.failover.bus import SESSION_SECONDS
from tests.failover.target_bus import TargetBus

pytestmark = pytest.mark.timeout(180)
MakeBus = Callable[..., TargetBus]


@pytest.fixture
def make_bus(
    zookeeper: ZooKeeper,
    mysql: MySQL,
    tmp_path: Path,
    make_mysql: Callable[..., MySQL],
    make_mariadb: Callable[..., MariaDB],
) -> Iterator[MakeBus]:
    with contextlib.ExitStack() as made:

        def make(*hosts: str, database: MySQL | MariaDB = mysql, target: Database, **options: Any) -> TargetBus:
            bus = TargetBus(zookeeper, database, target, tmp_path, **options)
            made.callback(bus.close)
            bus.prepare()
            return bus.start(*hosts)

        yield make


def test_120_leader_killed(make_bus: MakeBus, make_mysql: Callable[..., MySQL]) -> None:
    bus = make_bus(target=make_mysql())
    epoch, _ = bus.position()
    leader = bus.look().host
    bus.cluster.cores[leader].kill()
    bus.wait_running(other_than=leader)
    bus.wait_delivered(50)
    assert bus.differences() == []
    assert bus.position()[0] > epoch


def test_120_leader_killed_on_mariadb(
    make_bus: MakeBus, mariadb: MariaDB, make_mariadb: Callable[..., MariaDB]
) -> None:
    bus = make_bus(database=mariadb, target=make_mariadb())
    leader = bus.look().host
    bus.cluster.cores[leader].kill()
    bus.wait_running(other_than=leader)
    bus.wait_delivered(50)
    assert bus.differences() == []


def test_126_leader_frozen_longer_than_its_session_writes_nothing_when_it_wakes(
    make_bus: MakeBus, make_mysql: Callable[..., MySQL]
) -> None:
    bus = make_bus(target=make_mysql())
    leader = bus.look().host
    bus.writer.burst(3, 20_000)
    time.sleep(0.3)
    bus.cluster.cores[leader].pause()
    bus.wait_running(other_than=leader)
    bus.wait_delivered(50)
    time.sleep(SESSION_SECONDS)
    bus.cluster.cores[leader].resume()
    bus.wait_standby(leader)
    bus.wait_delivered(50)
    assert bus.differences() == []
    assert bus.look().host != leader


def test_126_worker_frozen_in_a_transaction_of_the_target(make_bus: MakeBus, make_mysql: Callable[..., MySQL]) -> None:
    """It has the lock of the position row; its successor ends its session."""
    target = make_mysql()
    bus = make_bus(target=target, sink={"max_packet_bytes": 1 << 16})
    worker = bus.look().figures.worker_pid  # type: ignore[union-attr]
    open_ones = "SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_rows_modified > 500"
    bus.writer.burst(5, 60_000)
    # The server shows what it has found before to those that ask again within a tenth of a second.
    wait_for(lambda: target.execute(open_ones) == [(1,)], "a large transaction at the target", 30, every=0.12)
    os.kill(worker, signal.SIGSTOP)
    bus.wait_delivered(50)
    assert bus.differences() == []


def test_126_workers_that_share_a_commit_among_connections(make_bus: MakeBus, make_mysql: Callable[..., MySQL]) -> None:
    """Frozen, then killed, somewhere in such commits: what is prepared at the target is ended by the successor."""
    target = make_mysql()
    bus = make_bus(target=target, sink={"order": "key", "connections": 3})

    def divide_more(than: int) -> None:
        wait_for(
            lambda: bus.divided() > than, lambda: f"commits over several connections; {bus.logs()}", 60, every=0.01
        )

    for how in (signal.SIGSTOP, signal.SIGKILL, signal.SIGSTOP):
        worker, before = bus.look().figures.worker_pid, bus.divided()  # type: ignore[union-attr]
        bus.writer.burst(8, 20_000)
        divide_more(before + 1)
        os.kill(worker, how)
        bus.wait_delivered(50)
    assert bus.differences() == []
    assert target.execute("XA RECOVER") == []


def test_switchover(make_bus: MakeBus, make_mysql: Callable[..., MySQL]) -> None:
    bus = make_bus(target=make_mysql())
    before = bus.look()
    bus.cluster.cli("task", "switchover", bus.name, "--to", before.standbys[0].host)
    after = bus.wait_running(other_than=before.host)
    bus.wait_delivered(50)
    assert after.host == before.standbys[0].host
    assert bus.differences() == []


def test_121_target_killed_and_restarted(make_bus: MakeBus, make_mysql: Callable[..., MySQL]) -> None:
    target = make_mysql()
    bus = make_bus(target=target)
    epoch, _ = bus.position()
    for _ in range(2):
        target.kill()
        target.start()
        bus.wait_delivered(50)
    assert bus.differences() == []
    assert bus.position()[0] == epoch


def test_125_fail_over_to_a_target_that_lacks_transactions(make_bus: MakeBus, make_mysql: Callable[..., MySQL]) -> None:
    """lastCommit goes back to the position of the new one."""
    primary, replica = make_mysql(), make_mysql()
    replication.follow(replica, primary)
    bus = make_bus(target=primary, more=(replica,))
    replica.execute("STOP REPLICA")
    bus.wait_delivered(100)
    time.sleep(1)  # lastCommit has it
    primary.kill()
    replication.promote(replica)
    bus.target = replica
    bus.wait_delivered(50)
    assert bus.differences() == []
    assert bus.look().checkpoint.position.reset == 1  # type: ignore[union-attr]
