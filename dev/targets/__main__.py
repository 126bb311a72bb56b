"""`python -m dev.targets --rounds N --seed S`: random transactions from one server to another, with faults."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

from dev.errors import DevError
from dev.paths import private_folder
from dev.servers.database import Database, MariaDB, MySQL
from dev.targets.round import Findings, Options, Round, drop

SERVERS: dict[str, Callable[[], Database]] = {"mysql": lambda: MySQL(fast=True), "mariadb": lambda: MariaDB(fast=True)}
ORDERS = ("transaction", "key")
APPLIED = ("binlog", "sql")
WAYS = ("mysql-mysql", "mysql-mariadb", "mariadb-mariadb", "mariadb-mysql")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m dev.targets", description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=6.0, help="of each round, besides its beginning and end")
    parser.add_argument(
        "--way", choices=WAYS, action="append", help="only from this server to that; may be given again"
    )
    parser.add_argument("--no-faults", action="store_true")
    parser.add_argument("--hard", action="store_true", help="the target's server is killed and frozen, too")
    parser.add_argument(
        "--order", choices=ORDERS, default="transaction", help="key: states of the target aren't judged"
    )
    parser.add_argument("--apply", choices=APPLIED, default="binlog", help="sql: three of four rounds with LOAD DATA")
    parser.add_argument("--keep-on", action="store_true", help="also after a round in which something is wrong")
    options = parser.parse_args()
    try:
        return _run(options)
    except DevError as error:
        print(f"failed: {error}")
        return 1


def _run(options: argparse.Namespace) -> int:
    ways = options.way or list(WAYS)
    running: dict[tuple[str, str], Database] = {}
    bad = 0
    try:
        for seed in range(options.seed, options.seed + options.rounds):
            way = ways[seed % len(ways)]
            source, target = (_server(running, side, name) for side, name in zip("st", way.split("-"), strict=True))
            began, database = time.monotonic(), f"r{seed}_{int(time.time())}"
            chosen = Options(
                f"{seed}", options.seconds, not options.no_faults, options.hard, options.order, options.apply
            )
            found = Round(source, target, database, private_folder(f"round-{seed}"), chosen).run()
            drop((source, target), database)
            bad += _tell(f"{seed} {way}", found, began)
            if bad and not options.keep_on:
                break
    finally:
        for server in running.values():
            server.close()
    return 1 if bad else 0


def _server(running: dict[tuple[str, str], Database], side: str, name: str) -> Database:
    if (side, name) not in running:
        running[side, name] = SERVERS[name]().start()
    return running[side, name]


def _tell(what: str, found: Findings, began: float) -> bool:
    """Whether something is wrong."""
    print(
        f"  {what}: {'WRONG' if found.wrong else 'right'}; {found.tables} tables, {found.transactions} transactions, "
        f"{found.samples} samples of {found.states} states, {found.faults} faults, {found.starts} starts; "
        f"{time.monotonic() - began:.1f} s",
        flush=True,
    )
    for line in found.wrong:
        print(f"    {line[:4000]}", flush=True)
    return bool(found.wrong)


if __name__ == "__main__":
    sys.exit(main())
