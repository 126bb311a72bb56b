"""A thread that alters, empties, renames and drops random tables while they are read and written."""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any, Final

import pymysql

from dev.snapshots.columns import ValueColumn
from dev.snapshots.journal import Journal
from dev.snapshots.tables import RandomTable, Versions
from dev.snapshots.writers import Place

_LATER: Final = frozenset({1205, 1213, 1290})
"""Lock waits, deadlocks, a server that is read-only: nothing has happened."""


class Administrator:
    """Args: every: mean time between two statements, seconds."""

    def __init__(
        self,
        place: Place,
        database: str,
        tables: list[RandomTable],
        journal: Journal,
        versions: Versions,
        *,
        seed: str,
        every: float,
    ) -> None:
        self._place, self._database, self._tables = place, database, tables
        self._journal, self._versions, self._every = journal, versions, every
        self._chance = random.Random(f"{seed}/definitions")
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="definitions", daemon=True)
        self._names = 0
        self.error: BaseException | None = None
        self.done: list[str] = []

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Raises what has ended the thread."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(60)
        if self.error is not None:
            raise self.error

    def _run(self) -> None:
        try:
            while not self._stop.wait(self._chance.expovariate(1 / self._every)):
                table = self._chance.choice(self._tables)
                act = self._choice(table)
                with table.lock.alone():
                    act(table)
        except BaseException as error:
            self.error = error

    def _choice(self, table: RandomTable) -> Callable[[RandomTable], None]:
        kinds: list[tuple[int, Callable[[RandomTable], None]]] = [
            (6, self._add_column),
            (4, self._drop_column),
            (4, self._modify_column),
            (3, self._add_index),
            (2, self._rebuild),
            (2, self._comment),
            (3, self._truncate),
            (3, self._drop_and_create),
            (3, self._rename),
            (2, self._swap_names),
        ]
        if table.keyed:
            kinds += [(3, self._reorder_key), (3, self._widen_key), (2, self._kind_of_key)]
        return self._chance.choices([act for _, act in kinds], [weight for weight, _ in kinds])[0]

    def _execute(self, *statements: str) -> bool:
        """False: nothing has happened."""
        try:
            with self._cursor() as cursor:
                for statement in statements:
                    version = self._versions.next()
                    cursor.execute(statement)
                    self._journal.statement(version, statement)
                    self.done.append(statement)
        except pymysql.Error as error:
            if error.args[0] not in _LATER:
                raise
            return False
        return True

    @contextlib.contextmanager
    def _cursor(self) -> Iterator[Any]:
        with (
            self._place.server.connect(database=self._database, autocommit=True, read_timeout=60) as connection,
            connection.cursor() as cursor,
        ):
            cursor.execute("SET SESSION lock_wait_timeout = 4, sql_mode = 'NO_ENGINE_SUBSTITUTION'")
            yield cursor

    # Statements. The table is not written to meanwhile.

    def _add_column(self, table: RandomTable) -> None:
        name = f"c{100 + self._names}"
        self._names += 1
        place = self._chance.choice(("", " FIRST", " AFTER v"))
        if self._execute(f"ALTER TABLE {table.name} ADD COLUMN {name} INT NULL DEFAULT {self._names}{place}"):
            table.values[name] = ValueColumn("INT", lambda chance: chance.randrange(1000), "BIGINT")
            self._journal.alter(table.number, name, self._versions.next())

    def _drop_column(self, table: RandomTable) -> None:
        if len(table.values) > 1:
            name = self._chance.choice(list(table.values))
            if self._execute(f"ALTER TABLE {table.name} DROP COLUMN {name}"):
                del table.values[name]

    def _modify_column(self, table: RandomTable) -> None:
        if not table.values:
            return
        name = self._chance.choice(list(table.values))
        kind = table.values[name]
        if kind.wider and self._execute(f"ALTER TABLE {table.name} MODIFY COLUMN {name} {kind.wider} NULL"):
            table.values[name] = ValueColumn(kind.wider, kind.value)
            self._journal.alter(table.number, name, self._versions.next())

    def _add_index(self, table: RandomTable) -> None:
        if self._execute(f"ALTER TABLE {table.name} ADD INDEX i{self._names} (v)"):
            self._execute(f"DROP INDEX i{self._names} ON {table.name}")
        self._names += 1

    def _rebuild(self, table: RandomTable) -> None:
        self._execute(
            self._chance.choice((f"ALTER TABLE {table.name} FORCE", f"OPTIMIZE TABLE {table.name}")),
            f"ANALYZE TABLE {table.name}",
        )

    def _comment(self, table: RandomTable) -> None:
        self._execute(f"ALTER TABLE {table.name} COMMENT = '{self._names}'")
        self._names += 1

    def _truncate(self, table: RandomTable) -> None:
        if self._execute(f"TRUNCATE TABLE {table.name}"):
            self._journal.empty(table.number, self._versions.next())

    def _drop_and_create(self, table: RandomTable) -> None:
        if self._execute(f"DROP TABLE {table.name}"):
            version = self._versions.next()
            self._journal.empty(table.number, version)
            self._journal.begin_again(table.number)
            for name in table.values:
                self._journal.alter(table.number, name, version)
            while not self._execute(f"CREATE TABLE {table.name} {table.create}"):
                pass

    def _rename(self, table: RandomTable) -> None:
        new = f"{self._chance.choice('amz')}{table.number}_{self._names}"
        self._names += 1
        verb = self._chance.choice((f"RENAME TABLE {table.name} TO {new}", f"ALTER TABLE {table.name} RENAME TO {new}"))
        self._journal.begin_again(table.number)
        if self._execute(verb):
            table.name = new

    def _swap_names(self, table: RandomTable) -> None:
        other = self._chance.choice(self._tables)
        if other is table or other.number < table.number:  # in one order, so that nobody waits for the other
            return
        with other.lock.alone():
            one, two = table.name, other.name
            for each in (table, other):
                self._journal.begin_again(each.number)
            if self._execute(f"RENAME TABLE {one} TO swapping, {two} TO {one}, swapping TO {two}"):
                table.name, other.name = two, one

    def _reorder_key(self, table: RandomTable) -> None:
        order = self._chance.sample(table.order, len(table.order))
        self._change_key(table, order, table.keyed)

    def _kind_of_key(self, table: RandomTable) -> None:
        self._change_key(table, table.order, "UNIQUE KEY" if table.keyed == "PRIMARY KEY" else "PRIMARY KEY")

    def _change_key(self, table: RandomTable, order: list[int], keyed: str) -> None:
        if table.partitioned and keyed != "PRIMARY KEY":
            return
        names = ", ".join(f"k{index}" for index in order)
        old = "PRIMARY KEY" if table.keyed == "PRIMARY KEY" else f"INDEX {self._index(table)}"
        self._journal.begin_again(table.number)
        if self._execute(f"ALTER TABLE {table.name} DROP {old}, ADD {keyed} ({names})"):
            table.order, table.keyed = order, keyed

    def _index(self, table: RandomTable) -> str:
        with self._cursor() as cursor:
            cursor.execute(
                "SELECT INDEX_NAME FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s "
                "AND NON_UNIQUE = 0 AND INDEX_NAME <> 'PRIMARY'",
                (self._database, table.name),
            )
            return str(cursor.fetchall()[0][0])

    def _widen_key(self, table: RandomTable) -> None:
        index = self._chance.randrange(len(table.key))
        kind = table.key[index]
        if not kind.wider or table.types[f"k{index}"] == kind.wider:
            return
        self._journal.begin_again(table.number)
        if self._execute(f"ALTER TABLE {table.name} MODIFY COLUMN k{index} {kind.wider} NOT NULL"):
            table.types[f"k{index}"] = kind.wider
