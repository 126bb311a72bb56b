"""What is too large, too full or too few: positions, disks, descriptors."""

from __future__ import annotations

import os
import subprocess
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from core.descriptors import LEAST
from dev.cluster import wait_for
from dev.servers import MySQL, ZooKeeper
from replicator.config.task import MySQLSource
from replicator.source.mysql import MySQLSource as Source
from tests.failover.bus import Bus
from tests.failover.test_conditions import clean, kill_dumps

pytestmark = pytest.mark.timeout(240)
MakeBus = Callable[..., Bus]


def test_52_a_gtid_set_of_many_intervals(
    make_bus: MakeBus, make_mysql: Callable[..., MySQL], make_zookeeper: Callable[..., ZooKeeper]
) -> None:
    """Of some 300 kB, in every checkpoint: on a ZooKeeper of its own."""
    server = make_mysql()
    numbers = ":".join(str(number) for number in range(1, 80_000, 2))
    server.execute("RESET BINARY LOGS AND GTIDS")
    server.execute(f"SET GLOBAL gtid_purged = '{uuid.uuid4()}:{numbers}'")
    bus = make_bus(database=server, zookeeper=make_zookeeper(), session_seconds=6.0, rate=20)
    leader = bus.look().host
    bus.cluster.cores[leader].kill()
    bus.wait_running(other_than=leader)
    clean(bus, timeout=90)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_53_a_full_disk_for_logs_stops_nothing(make_bus: MakeBus, tmp_path: Path) -> None:
    bus = make_bus("host-a")
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(small)], check=True)
    try:
        (bus.cluster.folder / "host-b.log").symlink_to(small / "host-b.log")
        process = bus.cluster.core("host-b")
        bus.wait_standby("host-b")
        fill = (small / "more").open("wb", buffering=0)
        with pytest.raises(OSError):
            while True:
                fill.write(b"x" * 4096)
        fill.close()
        bus.cluster.cores["host-a"].kill()
        bus.wait_running(other_than="host-a")
        clean(bus)
        process.close()
    finally:
        bus.cluster.close()
        subprocess.run(["umount", "-l", str(small)], check=True)


def test_54_reconnects_leave_nothing_open(make_bus: MakeBus) -> None:
    bus = make_bus("host-a")
    figures = bus.look().figures
    assert figures is not None
    worker = psutil.Process(figures.worker_pid)

    def reconnect() -> None:
        kill_dumps(bus, bus.database.replicator[0])
        bus.wait_delivered(5)

    for _ in range(2):
        reconnect()
    before, threads = worker.num_fds(), worker.num_threads()
    for _ in range(5):
        reconnect()
    assert worker.num_fds() <= before + 4 and worker.num_threads() <= threads + 2
    clean(bus)


def test_54_a_thousand_connections_to_the_source_leave_nothing_behind(mysql: MySQL, database: str) -> None:
    """One after another in one process: what a worker opens and loses in a bad week. No bus runs, so there is no
    history to judge; that of reconnects under load is judged above."""
    mysql.execute(f"CREATE TABLE {database}.t (id INT PRIMARY KEY)")
    user, password = mysql.replicator
    config = MySQLSource.model_validate({"type": "mysql", "port": mysql.port, "user": user, "password": "env:X"})
    source = Source(config, "thousand", password)
    position = source.end_position()
    process = psutil.Process()

    def connect(times: int) -> None:
        for number in range(times):
            stream = source.open(position)
            if number % 2:
                assert stream.read(1.0), "a stream begins with its file's first events"
            stream.close()

    connect(50)
    before = process.num_fds(), process.num_threads(), process.memory_info().rss
    connect(950)
    assert process.num_fds() <= before[0] + 2 and process.num_threads() <= before[1] + 1
    assert process.memory_info().rss < before[2] + (20 << 20)

    def sending() -> list[Any]:
        return [row for row in mysql.execute("SHOW PROCESSLIST") if row[1] == user and "Binlog Dump" in str(row[4])]

    wait_for(lambda: not sending(), "the server to have ended all of them", 20)


def test_54_too_few_descriptors_end_cleanly(make_bus: MakeBus) -> None:
    """Too few to begin with: it ends and says why. The least that is allowed: it stands by, and leads."""
    bus = make_bus("host-a")
    for limit in (8, 10, 14, LEAST - 1):
        process = bus.cluster.core(f"host-b{limit}", prefix=["prlimit", f"--nofile={limit}", "--"])
        assert process.wait(20) == 1
        assert process.tail(200).startswith("E5019 ") and f"Found: {limit} open files" in process.tail()
    bus.cluster.core("host-c", prefix=["prlimit", f"--nofile={LEAST}", "--"])
    bus.wait_standby("host-c")
    bus.cluster.cores["host-a"].kill()
    clean(bus)
    assert bus.cluster.cores["host-c"].running and "Traceback" not in bus.cluster.cores["host-c"].tail(200)
