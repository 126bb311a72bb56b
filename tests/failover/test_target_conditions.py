"""The server that a task writes to has no room, no connections, locks or a maintenance; then both are equal."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pymysql
import pytest

from dev.cluster import wait_for
from dev.servers import Database, MariaDB, MySQL, ZooKeeper
from tests.failover.target_bus import TargetBus

pytestmark = pytest.mark.timeout(240)
MakeBus = Callable[..., TargetBus]
SMALL = ("--innodb-data-file-path=ibdata1:12M", "--innodb-file-per-table=OFF")
"""A full tablespace fails at once, where a full disk has MySQL wait for a minute at a time."""

_DAY = 86_400
_HOT = 12
"""Rows that a storm locks: of all 300 of them, a minute on a busy machine had not one deadlock."""


@pytest.fixture
def make_bus(zookeeper: ZooKeeper, mysql: MySQL, tmp_path: Path) -> Iterator[MakeBus]:
    with contextlib.ExitStack() as made:

        def make(*, target: Database, database: MySQL | MariaDB = mysql, **options: Any) -> TargetBus:
            bus = TargetBus(zookeeper, database, target, tmp_path, **options)
            made.callback(bus.close)
            bus.prepare()
            return bus.start()

        yield make


def retries(bus: TargetBus, code: str) -> None:
    """It is retried and shown as that."""

    def shown() -> bool:
        figures = bus.look().figures
        retrying = figures.retrying if figures is not None else None
        return retrying is not None and (retrying.side, retrying.code) == ("sink", code)

    wait_for(shown, lambda: f"{code} is retried: {bus.look()}{bus.logs()}", 40, every=0.1)


def fill(target: Database, table: str) -> None:
    """Takes all the room of the tablespace."""
    target.execute(f"CREATE TABLE {table} (text LONGBLOB)")
    for size in (1 << 20, 1 << 16, 1 << 12):
        with contextlib.suppress(pymysql.err.OperationalError):
            while True:
                target.execute(f"INSERT INTO {table} VALUES (REPEAT('x', {size}))")


def admitted(target: Database, statement: str) -> bool:
    """False: all connections are in use; those that were closed may be for a moment."""
    with contextlib.suppress(pymysql.err.OperationalError):
        target.execute(statement)
        return True
    return False


class LockStorm:
    """Clients that lock the same few rows of a table in any order, and end each other's transactions and the task's."""

    def __init__(self, target: Database, table: str) -> None:
        self._target, self._table = target, table
        self._end = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(seed,)) for seed in range(3)]
        self.deadlocks = 0

    def __enter__(self) -> LockStorm:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *ignored: object) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join()

    def _run(self, seed: int) -> None:
        chosen = random.Random(seed)
        connection = self._target.connect(autocommit=False)
        with connection, connection.cursor() as cursor:
            while not self._end.is_set():
                keys = [key for (key,) in self._target.execute(f"SELECT id FROM {self._table} LIMIT {_HOT}")]
                try:
                    for key in chosen.sample(keys, min(4, len(keys))):
                        cursor.execute(f"SELECT id FROM {self._table} WHERE id = %s FOR UPDATE", (key,))
                        self._end.wait(0.01)
                except pymysql.err.OperationalError:
                    self.deadlocks += 1
                connection.rollback()


def connections(cursor: Any) -> set[int]:
    """Of the account that the task has."""
    cursor.execute("SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'applier'")
    return {int(number) for (number,) in cursor.fetchall()}


def test_122_123_124_128_what_a_target_suffers(make_bus: MakeBus, make_mysql: Callable[..., MySQL]) -> None:
    target = make_mysql(extra_args=SMALL)
    bus = make_bus(target=target)
    epoch, _ = bus.position()

    fill(target, f"{bus.name}.filler")
    bus.writer.burst(1, 20_000)
    retries(bus, "E3409")
    target.execute(f"DROP TABLE {bus.name}.filler")
    bus.wait_delivered(50)

    target.execute("SET GLOBAL super_read_only = ON")
    retries(bus, "E3408")
    target.execute("SET GLOBAL super_read_only = OFF")
    target.execute("SET GLOBAL read_only = OFF")
    bus.wait_delivered(50)

    with LockStorm(target, f"{bus.name}.hot_item") as storm:
        wait_for(lambda: storm.deadlocks >= 3, "deadlocks", 60)
        bus.wait_delivered(50)

    with contextlib.ExitStack() as held:
        target.execute("SET GLOBAL max_connections = 10")
        cursor = held.enter_context(target.connect()).cursor()
        own: set[int] = set()
        while of_task := connections(cursor) - own:  # it may be back before all places are taken
            for number in of_task:
                with contextlib.suppress(pymysql.err.OperationalError):
                    cursor.execute(f"KILL {number}")
            with contextlib.suppress(pymysql.err.OperationalError):
                while True:
                    own.add(held.enter_context(target.connect(user="applier", password="applier")).thread_id())
        retries(bus, "E3401")
    wait_for(lambda: admitted(target, "SET GLOBAL max_connections = 100"), "a connection that is free again", 40)
    bus.wait_delivered(50)

    assert bus.differences() == []
    assert bus.position()[0] == epoch, "one term"


@pytest.mark.parametrize("flavour", ["mysql", "mariadb"])
def test_129_the_clock_of_the_target_is_wrong(
    make_bus: MakeBus,
    mysql: MySQL,
    mariadb: MariaDB,
    make_mysql: Callable[..., MySQL],
    make_mariadb: Callable[..., MariaDB],
    flavour: str,
) -> None:
    """It is ahead while the task begins, and goes back while a standby takes over."""
    make, source = (make_mysql, mysql) if flavour == "mysql" else (make_mariadb, mariadb)
    target = make(own_clock=True)
    target.clock.set(3 * _DAY)
    assert abs(target.execute("SELECT UNIX_TIMESTAMP()")[0][0] - time.time() - 3 * _DAY) < 60
    bus = make_bus(database=source, target=target, sink={"ddl": "apply"})
    stamped = f"{bus.name}.stamped"
    bus.database.execute(
        f"CREATE TABLE {stamped} (id INT PRIMARY KEY, n INT, at TIMESTAMP(6) NOT NULL "
        "DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6))"
    )
    bus.database.execute(f"INSERT INTO {stamped} (id, n) VALUES (1, 1), (2, 2)")
    bus.wait_delivered(50)

    leader = bus.look().host
    target.clock.set(-2 * _DAY)
    bus.cluster.cores[leader].kill()
    bus.wait_running(other_than=leader)
    bus.database.execute(f"UPDATE {stamped} SET n = 3 WHERE id = 2")
    bus.database.execute(f"ALTER TABLE {stamped} ADD COLUMN made DATETIME DEFAULT CURRENT_TIMESTAMP")
    bus.wait_delivered(50)
    assert bus.differences() == []
    assert bus.rows(target, "stamped") == bus.rows(bus.database, "stamped")


@pytest.mark.parametrize("killed", ["leader", "target"])
def test_127_a_statement_is_cut_by_a_kill(make_bus: MakeBus, make_mysql: Callable[..., MySQL], killed: str) -> None:
    """The statement waits at the target for a lock when its leader, or the target itself, is killed."""
    target = make_mysql()
    bus = make_bus(target=target, sink={"ddl": "apply"})
    leader = bus.look().host
    holder = target.connect(autocommit=False)
    holder.cursor().execute(f"SELECT COUNT(*) FROM {bus.name}.hot_item")
    bus.database.execute(f"ALTER TABLE {bus.name}.hot_item ADD COLUMN later INT NOT NULL DEFAULT 7")
    waits = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE = 'Waiting for table metadata lock'"
    wait_for(lambda: target.execute(waits) == [(1,)], "the statement at the target", 40)
    if killed == "leader":
        bus.cluster.cores[leader].kill()
        bus.wait_running(other_than=leader)
        holder.close()
    else:
        target.kill()
        target.start()
    bus.wait_delivered(50)
    assert bus.differences() == []
    assert {row[-1] for row in bus.rows(target, "hot_item")} == {7}
