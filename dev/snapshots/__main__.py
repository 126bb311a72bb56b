"""`python -m dev.snapshots --rounds N --seed S`: snapshots of random tables beside random writers, DDL and faults."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

from dev.errors import DevError
from dev.servers.database import Database, MariaDB, MySQL
from dev.servers.replication import follow
from dev.snapshots.bus import Bus, BusRound
from dev.snapshots.round import Options, Round
from dev.snapshots.scene import Findings

NO_GTIDS = ("--gtid-mode=OFF", "--enforce-gtid-consistency=OFF")
UNUSUAL = (
    "--binlog-transaction-compression=ON",
    "--binlog-rows-query-log-events=ON",
    "--binlog-row-value-options=PARTIAL_JSON",
    "--binlog-order-commits=OFF",
)
UNUSUAL_MARIADB = ("--log-bin-compress=ON", "--log-bin-compress-min-len=10", "--binlog-annotate-row-events=ON")

SERVERS: dict[str, Callable[[], Database]] = {
    "mysql": lambda: MySQL(fast=True),
    "positions": lambda: MySQL(fast=True, extra_args=NO_GTIDS),
    "mariadb": lambda: MariaDB(fast=True),
    "mysql-unusual": lambda: MySQL(fast=True, extra_args=UNUSUAL),
    "mariadb-unusual": lambda: MariaDB(fast=True, extra_args=UNUSUAL_MARIADB),
}
"""positions: without GTIDs. unusual: compressed transactions and the like, commits that are not in the log's order."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m dev.snapshots", description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=4.0, help="of each round, besides its beginning and end")
    parser.add_argument("--on", choices=SERVERS, action="append", help="only this server; may be given again")
    parser.add_argument("--no-definitions", action="store_true", help="nobody alters, empties or renames tables")
    parser.add_argument("--no-faults", action="store_true")
    parser.add_argument("--bus", action="store_true", help="two Cores, Kafka and ZooKeeper instead of one process")
    parser.add_argument("--keep-on", action="store_true", help="also after a round in which something is wrong")
    options = parser.parse_args()
    try:
        return _on_a_bus(options) if options.bus else _in_one_process(options)
    except DevError as error:
        print(f"failed: {error}")
        return 1


def _in_one_process(options: argparse.Namespace) -> int:
    names = options.on or list(SERVERS)
    running: dict[str, Database] = {}
    bad = 0
    try:
        for seed in range(options.seed, options.seed + options.rounds):
            name = names[seed % len(names)]
            server = running.get(name) or SERVERS[name]().start()
            running[name] = server
            began, database = time.monotonic(), f"r{seed}_{int(time.time())}"
            definitions, faults = not options.no_definitions, not options.no_faults
            found = Round(server, database, Options(f"{seed}", options.seconds, definitions, faults)).run()
            server.execute(f"DROP DATABASE {database}")
            bad += _tell(f"{seed} on {name}", found, began)
            if bad and not options.keep_on:
                break
    finally:
        for server in running.values():
            server.close()
    return 1 if bad else 0


def _on_a_bus(options: argparse.Namespace) -> int:
    """Each round has a server of its own, so that it may be replaced by its replica."""
    names = options.on or ["mysql", "mariadb", "mysql-unusual"]
    bad = 0
    for seed in range(options.seed, options.seed + options.rounds):
        name = names[seed % len(names)]
        servers = [SERVERS[name]().start()]
        try:
            replica = None
            if isinstance(servers[0], MySQL) and seed % 2:
                replica = MySQL(fast=True, extra_args=servers[0].extra_args)
                servers.append(replica.start())
                follow(replica, servers[0])
            with Bus(servers[0]) as bus:
                began = time.monotonic()
                found = BusRound(bus, f"r{seed}", f"bus{seed}", options.seconds, replica).run()
                bad += _tell(f"{seed} on a bus with {name}{' and a replica' if replica else ''}", found, began)
        finally:
            for server in servers:
                server.close()
        if bad and not options.keep_on:
            break
    return 1 if bad else 0


def _tell(what: str, found: Findings, began: float) -> bool:
    """Whether something is wrong."""
    print(
        f"  {what}: {'WRONG' if found.wrong else 'right'}; {found.tables} tables, {found.read} rows read, "
        f"{found.streamed} changes of {found.transactions} transactions, {found.statements} statements, "
        f"{found.faults} faults, {found.sessions} sessions; {time.monotonic() - began:.1f} s",
        flush=True,
    )
    for line in found.wrong:
        print(f"    {line[:4000]}", flush=True)
    return bool(found.wrong)


if __name__ == "__main__":
    sys.exit(main())
