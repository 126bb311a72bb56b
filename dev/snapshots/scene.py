"""What every round has: random tables on a server, those who change them, and the comparison at the end."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from dev.servers.database import Database, MariaDB
from dev.snapshots.definitions import Administrator
from dev.snapshots.journal import Journal
from dev.snapshots.seen import Key, Record, Row, changes, key_of
from dev.snapshots.tables import SLICES, RandomTable, Versions
from dev.snapshots.verdict import Verdict, compare, compare_versions, judge
from dev.snapshots.writers import Place, Writer
from replicator.assembly.pipeline import build_pipeline
from replicator.checkpoint.history import MemoryHistory
from replicator.checkpoint.memory_store import MemoryStore
from replicator.config.load import parse_task
from replicator.errors import ReplicatorError
from replicator.model.position import Position
from replicator.model.term import Term
from replicator.sink.memory_sink import MemoryBroker, MemorySink

PASSWORD: Final = "REPL_SNAPSHOTS_PASSWORD"
"""Environment variable."""


class Findings(msgspec.Struct):
    """Of one round. `wrong`: lines."""

    wrong: list[str]
    tables: int = 0
    read: int = 0
    streamed: int = 0
    transactions: int = 0
    statements: int = 0
    faults: int = 0
    sessions: int = 0


class Unseen:
    def streaming(self, position: Position) -> None: ...

    def waiting(self, error: ReplicatorError) -> None: ...

    def progress(self, checkpoint: object, figures: object) -> None: ...


class Scene:
    """
    Args:
        database: name of one that does not exist yet.
        seed: decides tables, and what each thread does.
    """

    def __init__(self, server: Database, database: str, seed: str) -> None:
        os.environ[PASSWORD] = Database.replicator[1]
        self.place, self.database = Place(server), database
        self.mariadb = isinstance(server, MariaDB)
        self.journal, self.versions = Journal(), Versions()
        self.chance = chance = random.Random(f"{seed}/scene")
        self.format = chance.choice(("debezium", "debezium", "maxwell"))
        self.rows_per_s = chance.choice((None, 800, 3000, 10_000))
        keyless = chance.random() < 0.3
        self.tables = [
            RandomTable(number, f"t{number}", chance, mariadb=self.mariadb, keyless=keyless and number == 0)
            for number in range(chance.randint(1, 4))
        ]
        pause = chance.choice((0.0, 0.01, 0.05))
        common = (self.place, database, self.tables, self.journal, self.versions)
        self.writers = [Writer(*common, number=number, seed=seed, pause=pause) for number in range(SLICES)]
        self.administrator = Administrator(*common, seed=seed, every=0.5)

    def make(self) -> None:
        """Creates and fills the tables."""
        server = self.place.server
        server.execute(f"CREATE DATABASE {self.database} CHARACTER SET utf8mb4")
        with server.connect(database=self.database, autocommit=False) as connection, connection.cursor() as cursor:
            cursor.execute("SET SESSION sql_mode = 'NO_ENGINE_SUBSTITUTION'")
            for table in self.tables:
                if not table.keyed:  # one pass, which an interruption begins again
                    self.journal.begin_again(table.number)
                cursor.execute(f"CREATE TABLE {table.name} {table.create}")
                rows = [
                    table.row(number, number % SLICES, self.versions.next(), self.chance)
                    for number in range(table.rows)
                ]
                cursor.executemany(f"INSERT INTO {table.name} {table.insert}", rows)
                connection.commit()

    def begun(self) -> int:
        """The task has a position. Returns the version as of which it must have every change."""
        for writer in self.writers:
            writer.prepares.set()
        return self.versions.next()

    def stop(self) -> None:
        """Whoever changes something. Raises what has ended one of them."""
        self.administrator.stop()
        for writer in self.writers:
            writer.stop()

    def configuration(self, port: int, *, whole: bool = False) -> dict[str, Any]:
        """Of the task `copy`, without a sink that holds a position. `whole`: no limits."""
        chance = self.chance
        snapshot: dict[str, Any] = {"mode": "initial", "without_key": "read"}
        if not whole:
            snapshot["chunk_rows"] = chance.choice((3, 7, 40, 200, 1000))
            snapshot["connections"] = chance.choice((1, 1, 2, 4))
            if self.rows_per_s:
                snapshot["max_rows_per_s"] = self.rows_per_s
        sink: dict[str, Any] = {"type": "stdout", "format": self.format}
        if self.format == "debezium":
            sink["debezium"] = {"skipped_operations": []}
        source = {
            "type": "mariadb" if self.mariadb else "mysql",
            "port": port,
            "user": Database.replicator[0],
            "password": f"env:{PASSWORD}",
            "tables": [f"{self.database}.*"],
            "heartbeat_s": 1,
            "connect_timeout_s": 3,
            "snapshot": snapshot,
        }
        return {"name": "copy", "source": source, "sink": sink}

    def judged(self, records: Iterable[Record], since: int) -> Verdict:
        """`since`: see `judge`."""
        verdict = judge(changes(records), self.journal, since=since)
        compare(verdict, self._truth(), self.journal)
        compare_versions(verdict, self._selected())
        return verdict

    def findings(self, verdict: Verdict, *, faults: list[str], errors: Iterable[str], sessions: int = 0) -> Findings:
        wrong = verdict.lines()
        if wrong:
            wrong += [f"tables {[(table.number, table.name, table.create) for table in self.tables]}"]
            wrong += [f"statements {self.journal.statements}", f"faults {faults}", f"errors {sorted(set(errors))}"]
        return Findings(
            wrong,
            len(self.tables),
            verdict.read,
            verdict.streamed,
            sum(writer.transactions for writer in self.writers),
            len(self.administrator.done),
            len(faults),
            sessions,
        )

    def _truth(self) -> dict[Key, Row]:
        """What a snapshot of the last state has, without anything beside it."""
        config = parse_task(self.configuration(self.place.server.port, whole=True))
        broker = MemoryBroker()
        build_pipeline(
            config,
            term=Term.unlimited(config.name),
            store=MemoryStore(),
            observer=Unseen(),
            sink=MemorySink(config.name, broker),
            history=MemoryHistory(),
            snapshot_only=True,
        ).run()
        rows = (change.after for change in changes(broker.records) if change.kind == "read")
        return {key_of(row): row for row in rows if row is not None}

    def _selected(self) -> list[tuple[int, int]]:
        server = self.place.server
        return [
            (int(row[0]), int(row[1]))
            for table in self.tables
            for row in server.execute(f"SELECT t, v FROM {self.database}.{table.name}")
        ]
