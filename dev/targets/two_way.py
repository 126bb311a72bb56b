"""`python -m dev.targets.two_way --seconds 120`: tasks in all directions between two or more servers, with writers on
each of them; at the end all have equal rows, and nothing is written any more."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import random
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import pymysql

from dev.errors import DevError
from dev.paths import private_folder
from dev.servers.database import Database, MariaDB, MySQL
from dev.targets.task import Task, configuration, make_account
from dev.targets.writers import ROLLED_BACK

_TABLES: Final = {
    "own": "(id BIGINT PRIMARY KEY, site INT NOT NULL, n BIGINT NOT NULL, text VARCHAR(200))",
    "shared": "(id INT PRIMARY KEY, n BIGINT NOT NULL, changed BIGINT NOT NULL)",
}
_SHARED_ROWS: Final = 20
_EQUAL_SECONDS: Final = 60.0
_QUIET_SECONDS: Final = 4.0
_IDLE_CHANGES: Final = 3
"""Of a position row in that time: positions without rows, which are rare."""


class Options(msgspec.Struct, frozen=True):
    """
    Attributes:
        shared: writers of all sites change the same rows; the newest change wins.
        restarts: tasks are killed and started again.
        ddl: definitions are changed at the first site.
        guard: of all tasks; "none" shows what happens without.
        apply: `sink.apply` of all tasks.
    """

    seed: int = 1
    seconds: float = 20.0
    shared: bool = False
    restarts: bool = True
    ddl: bool = True
    guard: str = "all"
    apply: str = "auto"


class Findings(msgspec.Struct):
    wrong: list[str]
    transactions: int = 0
    starts: int = 0
    rows: int = 0


class Writer(threading.Thread):
    """Changes rows of its own site, and shared ones."""

    def __init__(self, server: Database, database: str, site: int, sites: int, options: Options) -> None:
        super().__init__(daemon=True)
        self._server, self.database, self._site, self._sites = server, database, site, sites
        self._shared = options.shared
        self._chance = random.Random(f"{options.seed}/{site}")
        self._ended = threading.Event()
        self._last = 0
        self.transactions = 0
        self.error = ""

    def run(self) -> None:
        try:
            with self._server.connect(database=self.database, autocommit=False) as connection:
                while not self._ended.is_set():
                    self._write(connection)
                    time.sleep(self._chance.choice((0.0, 0.001, 0.02)))
        except Exception as error:
            self.error = repr(error)

    def _write(self, connection: pymysql.connections.Connection[Any]) -> None:
        """One transaction; none where the server has chosen it as the victim of a deadlock with a task."""
        try:
            with connection.cursor() as cursor:
                for _ in range(self._chance.choice((1, 1, 1, 3, 40))):
                    self._change(cursor)
            connection.commit()
            self.transactions += 1
        except pymysql.err.OperationalError as error:
            if error.args[0] not in ROLLED_BACK:
                raise
            connection.rollback()

    def stop(self) -> None:
        self._ended.set()
        self.join()

    def _change(self, cursor: Any) -> None:
        chance = self._chance
        if self._shared and chance.random() < 0.5:
            cursor.execute(
                "UPDATE shared SET n = %s, changed = %s WHERE id = %s",
                (chance.randrange(1 << 40), self._moment(), chance.randrange(_SHARED_ROWS)),
            )
            return
        known = self._last and self._id(chance.randint(1, self._last))
        kind = chance.random()
        if kind < 0.5 or not known:
            self._last += 1
            row = self._id(self._last), self._site, self._last, "x" * chance.randrange(200)
            cursor.execute("INSERT INTO own (id, site, n, text) VALUES (%s, %s, %s, %s)", row)
        elif kind < 0.9:
            cursor.execute("UPDATE own SET n = n + 1 WHERE id = %s", (known,))
        else:
            cursor.execute("DELETE FROM own WHERE id = %s", (known,))

    def _id(self, number: int) -> int:
        return number * self._sites + self._site

    def _moment(self) -> int:
        """No two sites have the same one."""
        return time.time_ns() // 1000 * self._sites + self._site


class TwoWay:
    """
    Args:
        servers: two or more; there is a task from each to each other one.
        database: name of one that exists on none of them.
        folder: an empty one.
    """

    def __init__(self, servers: Sequence[Database], database: str, folder: Path, options: Options) -> None:
        self._servers, self.database, self._folder, self._options = servers, database, folder, options
        self._chance = random.Random(f"{options.seed}/two way")
        count = len(servers)
        self.writers = [Writer(server, database, site, count, options) for site, server in enumerate(servers)]
        self.tasks: list[Task] = []

    def run(self) -> Findings:
        self.make()
        with contextlib.ExitStack() as stack:
            for task in self.tasks:
                stack.callback(task.stop)
                task.start()
            self._write()
            wrong = [f"writer {site}: {writer.error}" for site, writer in enumerate(self.writers) if writer.error]
            wrong += self.differences() or self.echoes()
        if wrong:
            wrong += [f"the log of a task ends with {task.log[-1500:]}" for task in self.tasks]
        rows = self._rows(self._servers[0], "own")
        return Findings(wrong, sum(each.transactions for each in self.writers), self.starts, len(rows))

    @property
    def starts(self) -> int:
        return sum(task.starts for task in self.tasks)

    def make(self) -> None:
        for server in self._servers:
            make_account(server)
            server.execute(f"CREATE DATABASE {self.database} CHARACTER SET utf8mb4")
            for name, columns in _TABLES.items():
                server.execute(f"CREATE TABLE {self.database}.{name} {columns}")
            values = ", ".join(f"({row}, 0, 0)" for row in range(_SHARED_ROWS))
            server.execute(f"INSERT INTO {self.database}.shared VALUES {values}")
        for source, target in itertools.permutations(range(len(self._servers)), 2):
            self.tasks.append(self._task(source, target))

    def _task(self, source: int, target: int) -> Task:
        here, there = self._servers[source], self._servers[target]
        config = configuration(here, here.port, there, there.port, self.database)
        config["name"] = name = f"{self.database}-{source}-to-{target}"
        config["source"]["skip_replicated"] = self._options.guard
        config["sink"]["apply"] = self._options.apply
        config["sink"]["ddl"] = "apply" if self._options.ddl else "stop"
        shared = {"tables": ["*.shared"], "policy": "newest_wins", "column": "changed"}
        config["sink"]["conflict"] = [shared] if self._options.shared else "stop"
        folder = self._folder / name
        folder.mkdir()
        return Task(config, folder)

    def _write(self) -> None:
        for writer in self.writers:
            writer.start()
        end, middle = time.monotonic() + self._options.seconds, time.monotonic() + self._options.seconds / 2
        altered = not self._options.ddl
        while time.monotonic() < end and not any(task.ended() for task in self.tasks):
            time.sleep(0.5)
            if not altered and time.monotonic() > middle:
                altered = True
                self._servers[0].execute(f"ALTER TABLE {self.database}.own ADD COLUMN more INT DEFAULT 7")
                self._servers[0].execute(f"CREATE TABLE {self.database}.made (id INT PRIMARY KEY)")
            if self._options.restarts and self._chance.random() < 0.15:
                task = self._chance.choice(self.tasks)
                self._chance.choice((task.kill, task.restart))()
        for writer in self.writers:
            writer.stop()
        if self._options.ddl:
            self._servers[0].execute(f"DROP TABLE {self.database}.made")

    def differences(self) -> list[str]:
        """Waits until all rows are equal."""
        deadline = time.monotonic() + _EQUAL_SECONDS
        while time.monotonic() < deadline:
            if any(task.ended() for task in self.tasks):
                return ["a task has ended"]
            if not (found := self._compared()):
                return []
            time.sleep(0.5)
        return found

    def echoes(self) -> list[str]:
        """What is written while nobody writes."""
        before = [self.sequences(server) for server in self._servers]
        time.sleep(_QUIET_SECONDS)
        found = []
        for server, known in zip(self._servers, before, strict=True):
            for task, sequence in self.sequences(server).items():
                if sequence - known.get(task, 0) > _IDLE_CHANGES:
                    found.append(f"{task} has written {sequence - known.get(task, 0)} transactions without a cause")
        return found + self._compared()

    def sequences(self, server: Database) -> dict[str, int]:
        sql = "SELECT task, sequence FROM replicator.replicator_position WHERE task LIKE %s"
        return {str(task): int(sequence) for task, sequence in server.execute(sql, (f"{self.database}-%",))}

    def _compared(self) -> list[str]:
        found = []
        for table in _TABLES:
            first, *others = [self._rows(server, table) for server in self._servers]
            for site, rows in enumerate(others, 1):
                if rows != first:
                    found.append(
                        f"{table}: 0 has {len(first)} rows and {site} has {len(rows)}, "
                        f"different ones are {sorted(set(first) ^ set(rows))[:4]}"
                    )
        tables = [{name for (name,) in server.execute(f"SHOW TABLES FROM {self.database}")} for server in self._servers]
        return found + [f"{each ^ tables[0]} is not everywhere" for each in tables[1:] if each != tables[0]]

    def _rows(self, server: Database, table: str) -> list[tuple[Any, ...]]:
        return server.execute(f"SELECT * FROM {self.database}.{table} ORDER BY id")


SERVERS: Final[dict[str, Callable[[], Database]]] = {
    "mysql": lambda: MySQL(fast=True),
    "mariadb": lambda: MariaDB(fast=True),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m dev.targets.two_way", description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--servers", default="mysql-mysql", help="names with - between them; three: a full mesh")
    parser.add_argument("--shared", action="store_true", help="writers of all sites change the same rows")
    parser.add_argument("--no-guard", action="store_true", help="shows what happens without it")
    options = parser.parse_args()
    servers = [SERVERS[name]() for name in options.servers.split("-")]
    chosen = Options(options.seed, options.seconds, options.shared, guard="none" if options.no_guard else "all")
    try:
        for server in servers:
            server.start()
        found = TwoWay(servers, f"w{int(time.time())}", private_folder("two-way"), chosen).run()
    except DevError as error:
        print(f"failed: {error}")
        return 1
    finally:
        for server in servers:
            server.close()
    state = "WRONG" if found.wrong else "right"
    print(f"  {options.servers}: {state}; {found.transactions} transactions, {found.starts} starts, {found.rows} rows")
    for line in found.wrong:
        print(f"    {line}")
    return 1 if found.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
