"""The server that rows are applied to, and its own replication of the same binlog."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psutil

from dev.bench.apply_job import ACCOUNT
from dev.bench.job import Outcome
from dev.bench.load import DATABASE, SCHEMA, TABLE, Segment
from dev.servers.database import Database, MySQL

WORKERS: Final = (1, 4, 8)
_SECONDS: Final = 600
_SETTINGS: Final = (
    "--innodb-buffer-pool-size=2G",
    "--innodb-redo-log-capacity=1G",
    "--max-binlog-size=1073741824",
    "--local-infile=ON",
    "--max-allowed-packet=256M",
)
_FAST: Final = ("--sync-binlog=0", "--innodb-flush-log-at-trx-commit=2", "--innodb-doublewrite=OFF")
_DURABLE: Final = ("--sync-binlog=1", "--innodb-flush-log-at-trx-commit=1")


class Target:
    """MySQL with the table of the load, empty."""

    def __init__(self, server: MySQL, source: Database) -> None:
        self.server, self._source = server, source

    def clear(self) -> None:
        """No rows, no positions, and an empty binlog."""
        execute = self.server.execute
        execute(f"TRUNCATE {DATABASE}.{TABLE}")
        execute("DROP DATABASE IF EXISTS replicator")
        execute("RESET BINARY LOGS AND GTIDS")

    def rows(self) -> tuple[int, int]:
        """(number, sum of all quantities) of the rows."""
        found = self.server.execute(f"SELECT COUNT(*), SUM(quantity) FROM {DATABASE}.{TABLE}")[0]
        return int(found[0]), int(found[1] or 0)

    def replicate(self, segment: Segment, transactions: int, workers: int) -> Outcome:
        """The server's own replication of the segment, from its relay log. cpu_s: of the server, as there is nothing
        else. Raises RuntimeError."""
        execute = self.server.execute
        self.clear()
        uuid, last = _last(segment.gtids, transactions)
        execute("SET GLOBAL gtid_purged = %s", (segment.gtids,))
        execute(f"SET GLOBAL replica_parallel_workers = {workers}")
        user, password = self._source.replicator
        execute(
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST = %s, SOURCE_PORT = %s, SOURCE_USER = %s, SOURCE_PASSWORD = %s, "
            "SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1",
            (self._source.host, self._source.port, user, password),
        )
        execute("START REPLICA IO_THREAD")
        try:
            self._await_received(f"{uuid}:{last}")
            execute("STOP REPLICA IO_THREAD")
            process = psutil.Process(self.server.pid)
            used, began = _cpu(process), time.monotonic()
            execute(f"START REPLICA SQL_THREAD UNTIL SQL_AFTER_GTIDS = '{uuid}:{last}'")
            if execute(f"SELECT WAIT_FOR_EXECUTED_GTID_SET('{uuid}:1-{last}', {_SECONDS})")[0][0]:
                raise RuntimeError(f"the replica has not applied {segment.name} in {_SECONDS} s")
            seconds, cpu_s = time.monotonic() - began, _cpu(process) - used
        finally:
            execute("STOP REPLICA")
            execute("RESET REPLICA ALL")
        return Outcome(segment.rows, seconds, 0.0, cpu_s)

    def _await_received(self, gtid: str) -> None:
        ask = "SELECT GTID_SUBSET(%s, RECEIVED_TRANSACTION_SET) FROM performance_schema.replication_connection_status"
        end = time.monotonic() + _SECONDS
        while not self.server.execute(ask, (gtid,))[0][0]:
            if time.monotonic() > end:
                raise RuntimeError("the replica has not received the segment")
            time.sleep(0.1)


def _last(executed: str, transactions: int) -> tuple[str, int]:
    """(UUID of the source, number of the last transaction) of as many behind `executed`, which is without gaps."""
    uuid, _, intervals = executed.partition(":")
    return uuid, int(intervals.rpartition("-")[2]) + transactions


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


@contextmanager
def target_of(source: Database, *, durable: bool = False) -> Iterator[Target]:
    """durable: on a disk, with everything flushed at each commit."""
    settings = [*_SETTINGS, *(_DURABLE if durable else _FAST), "--performance-schema=ON"]
    with MySQL(fast=not durable, extra_args=settings) as server:
        server.execute(f"CREATE DATABASE {DATABASE}")
        server.execute(SCHEMA)
        user, password = ACCOUNT
        server.execute(f"CREATE USER {user}@'%%' IDENTIFIED BY '{password}'")
        server.execute(f"GRANT ALL PRIVILEGES ON *.* TO {user}@'%%'")
        yield Target(server, source)
