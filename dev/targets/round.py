"""One round: two servers, random tables, writers, a task that applies, faults, and the verdict."""

from __future__ import annotations

import collections
import contextlib
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from dev.faults.proxy import Proxy
from dev.servers.database import Database, MariaDB
from dev.targets.faults import Faults
from dev.targets.history import History
from dev.targets.sampler import Sampler, sample
from dev.targets.schema import MARKS, TICKS, WRITERS, random_schema
from dev.targets.task import Task, configuration, make_account
from dev.targets.writers import Writer

_SHOWN: Final = 5
_LOADS: Final = 0.75
"""Of the rounds by SQL, those with LOAD DATA."""
_CHARACTERS: Final = 500


class Findings(msgspec.Struct):
    """Of one round. `wrong`: lines."""

    wrong: list[str]
    tables: int = 0
    transactions: int = 0
    samples: int = 0
    states: int = 0
    faults: int = 0
    starts: int = 0


class Options(msgspec.Struct, frozen=True):
    seed: str
    seconds: float = 6.0
    faults: bool = True
    hard: bool = False
    order: str = "transaction"
    apply: str = "binlog"


class Round:
    """
    Args:
        database: name of one that exists on neither server.
        folder: an empty one for the task's files.
    """

    def __init__(self, source: Database, target: Database, database: str, folder: Path, options: Options) -> None:
        self._source, self._target, self._database, self._options = source, target, database, options
        self._folder = folder
        self._chance = chance = random.Random(f"{options.seed}/round")
        mariadb = isinstance(source, MariaDB)
        both = mariadb != isinstance(target, MariaDB)
        self._tables = random_schema(chance, mariadb=mariadb, both=both, keyed=options.apply == "sql")
        self._serial = chance.random() < 0.5
        self._history = History([table.name for table in self._tables], WRITERS)
        pause = chance.choice((0.0, 0.002, 0.02))
        self._writers = [
            Writer(
                source,
                database,
                self._tables,
                self._history,
                number=number,
                seed=options.seed,
                serial=self._serial,
                pause=pause,
            )
            for number in range(WRITERS)
        ]
        self._sampler = Sampler(target, database, self._tables, seed=options.seed, serial=self._serial)

    def run(self) -> Findings:
        self._make()
        with contextlib.ExitStack() as stack:
            ways = stack.enter_context(Proxy(self._source.port)), stack.enter_context(Proxy(self._target.port))
            config = configuration(self._source, ways[0].port, self._target, ways[1].port, self._database)
            config["sink"] |= {"order": self._options.order, "apply": self._options.apply}
            config["sink"]["load_data"] = self._chance.random() < _LOADS
            task = Task(config, self._folder)
            stack.callback(task.stop)
            faults = Faults(
                task,
                self._source,
                self._target,
                ways,
                seed=self._options.seed,
                every=0.6,
                hard=self._options.hard,
            )
            wrong = self._go(task, faults)
        wrong += self._compared() + self._judged()
        samples = self._sampler.samples
        if wrong:
            wrong += [f"tables {[table.create for table in self._tables]}", f"faults {faults.done}"]
            wrong += [f"serial {self._serial}", f"the task's log ends with {task.log[-3000:]}"]
        return Findings(
            wrong,
            len(self._tables),
            sum(writer.transactions for writer in self._writers),
            len(samples),
            len({tuple(sorted(each.marks.items())) for each in samples}),
            len(faults.done),
            task.starts,
        )

    def _make(self) -> None:
        """The same tables on both; then rows at the source, which the task has to bring."""
        if self._options.apply == "sql":
            self._target.execute("SET GLOBAL local_infile = ON")
        make_account(self._target)
        for server in (self._source, self._target):
            server.execute(f"CREATE DATABASE {self._database} CHARACTER SET utf8mb4")
            with server.connect(database=self._database) as connection, connection.cursor() as cursor:
                cursor.execute(f"CREATE TABLE {MARKS} (w INT PRIMARY KEY, n BIGINT NOT NULL)")
                cursor.execute(f"CREATE TABLE {TICKS} (id INT PRIMARY KEY, n BIGINT NOT NULL)")
                cursor.execute(f"INSERT INTO {TICKS} VALUES (1, 0)")
                cursor.executemany(f"INSERT INTO {MARKS} VALUES (%s, 0)", [[number] for number in range(WRITERS)])
                for table in self._tables:
                    cursor.execute(table.create)
        nothing = dict.fromkeys(
            ((table.name, writer) for table in self._tables for writer in range(WRITERS)), (0, 0, 0)
        )
        for writer in range(WRITERS):
            self._history.committed(writer, 0, nothing)

    def _go(self, task: Task, faults: Faults) -> list[str]:
        """Returns what went wrong with the task itself."""
        task.start()
        self._sampler.start()
        for writer in self._writers:
            writer.start()
        try:
            if self._options.faults:
                faults.start()
            end = time.monotonic() + self._options.seconds
            while time.monotonic() < end and not task.ended():
                time.sleep(0.05)
        finally:
            for writer in self._writers:
                writer.stop()
            if self._options.faults:
                faults.stop()
        try:
            status = task.finish()
        except TimeoutError as error:
            return [str(error)]
        finally:
            self._sampler.stop()
        return [f"the task has ended with status {status}"] if status else []

    def _judged(self) -> list[str]:
        with self._target.connect(database=self._database) as connection:
            last_seen = sample(connection.cursor(), self._tables, serial=self._serial)
            samples = [*self._sampler.samples, last_seen] if self._options.order == "transaction" else [last_seen]
        lines = [line for each in samples for line in self._history.wrong(each)]
        last = self._history.last()
        if dict(samples[-1].marks) != last:
            lines.append(f"the target has transactions {dict(samples[-1].marks)}, and {last} were committed")
        return lines[:_SHOWN]

    def _compared(self) -> list[str]:
        """By value, row by row."""
        lines = []
        for name in [*(table.name for table in self._tables), MARKS, TICKS]:
            there, here = self._rows(self._source, name), self._rows(self._target, name)
            if there != here:
                missing, extra = list((there - here).elements()), list((here - there).elements())
                lines.append(
                    f"{name}: {len(missing)} rows are missing: {_shown(missing)}; "
                    f"{len(extra)} are too many: {_shown(extra)}"
                )
        return lines

    def _rows(self, server: Database, table: str) -> collections.Counter[tuple[Any, ...]]:
        return collections.Counter(server.execute(f"SELECT * FROM {self._database}.{table}"))


def _shown(rows: list[tuple[Any, ...]]) -> str:
    return str(rows[:_SHOWN])[:_CHARACTERS]


def drop(servers: Sequence[Database], database: str) -> None:
    for server in servers:
        server.execute(f"DROP DATABASE {database}")
