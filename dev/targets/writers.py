"""Threads with random transactions, each of which is written down as it commits."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import pymysql

from dev.servers.database import Database
from dev.targets.history import History, Print
from dev.targets.schema import MARKS, TICKS, WRITERS, TargetTable

_REFUSED: Final = frozenset({1022, 1062, 1205, 1213, 1217, 1451, 1452})
"""Duplicate keys, lock waits, deadlocks, foreign keys: the statement has changed nothing."""
ROLLED_BACK: Final = frozenset({1205, 1213})


class _Again(Exception):
    """The server has rolled the transaction back."""


class Writer:
    """
    Args:
        serial: all transactions follow each other, and are counted; writers take unique values from each other.
    """

    def __init__(
        self,
        server: Database,
        database: str,
        tables: Sequence[TargetTable],
        history: History,
        *,
        number: int,
        seed: str,
        serial: bool,
        pause: float,
    ) -> None:
        self._server, self._database, self._tables, self._history = server, database, tables, history
        self._writer, self._serial, self._pause = number, serial, pause
        self._chance = random.Random(f"{seed}/writer{number}")
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"writer-{number}", daemon=True)
        self._last = 0
        self._changes = 0
        self.error: BaseException | None = None

    @property
    def transactions(self) -> int:
        return self._last

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Raises what has ended the thread."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(120)
        if self.error is not None:
            raise self.error

    def _run(self) -> None:
        try:
            with self._server.connect(database=self._database, autocommit=True) as connection:
                cursor = connection.cursor()
                cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
                cursor.execute("SET SESSION innodb_lock_wait_timeout = 5")
                cursor.execute("SET SESSION sql_mode = 'NO_ENGINE_SUBSTITUTION'")
                while not self._stop.is_set():
                    self._transaction(cursor)
                    time.sleep(self._chance.uniform(0, self._pause))
        except BaseException as error:
            self.error = error

    def _transaction(self, cursor: Any) -> None:
        branch = f"'{self._database}.{self._writer}.{self._last}'" if self._chance.random() < 0.05 else ""
        try:
            cursor.execute(f"XA START {branch}" if branch else "BEGIN")
            done = self._changed(cursor)
        except _Again:
            done = None
        if branch:
            with contextlib.suppress(pymysql.Error):  # the branch has to be rolled back, as after 1213
                cursor.execute(f"XA END {branch}")
        if done is None or self._chance.random() < 0.05:
            cursor.execute(f"XA ROLLBACK {branch}" if branch else "ROLLBACK")
            return
        if branch:
            cursor.execute(f"XA PREPARE {branch}")
        cursor.execute(f"XA COMMIT {branch}" if branch else "COMMIT")
        prints, tick = done
        self._last += 1
        self._history.committed(self._writer, self._last, prints, tick)

    def _changed(self, cursor: Any) -> tuple[dict[tuple[str, int], Print], int | None]:
        tick = None
        if self._serial:
            self._do(cursor, f"UPDATE {TICKS} SET n = n + 1")
            cursor.execute(f"SELECT n FROM {TICKS}")
            tick = int(cursor.fetchone()[0])
        self._do(cursor, f"UPDATE {MARKS} SET n = %s WHERE w = %s", [self._last + 1, self._writer])
        for _ in range(self._chance.choice((1, 1, 1, 2, 5, 20))):
            table = self._chance.choice(self._tables)
            if self._chance.random() < 0.05:
                cursor.execute("SAVEPOINT s")
                self._change(cursor, table)
                cursor.execute("ROLLBACK TO SAVEPOINT s")
            self._change(cursor, table)
        return prints_of(cursor, self._tables, None if self._serial else self._writer), tick

    def _change(self, cursor: Any, table: TargetTable) -> None:
        kinds: list[tuple[float, Callable[[Any, TargetTable], None]]] = [
            (28, self._update),
            (10, self._delete),
            (18, self._insert),
            (6, self._update_range),
            (2, self._delete_range),
            (0.1, self._large),
        ]
        if table.key:
            kinds += [(10, self._change_key), (8, self._replace), (8, self._upsert), (6, self._swap_keys)]
        if table.unique:
            kinds += [(12, self._move_unique), (8, self._swap_unique)]
        self._chance.choices([do for _, do in kinds], [weight for weight, _ in kinds])[0](cursor, table)

    def _do(self, cursor: Any, sql: str, values: Sequence[Any] = ()) -> int:
        """Rows; 0 where the server refuses it for what is in the table."""
        try:
            return int(cursor.execute(sql, values) or 0)
        except pymysql.MySQLError as error:
            number = error.args[0]
            if number in ROLLED_BACK:
                raise _Again from error
            if number not in _REFUSED:
                raise
            return 0

    def _version(self) -> int:
        self._changes += 1
        return self._changes * WRITERS + self._writer

    def _row(self, table: TargetTable) -> list[Any]:
        number = table.number(self._writer, self._chance)
        return table.row(number, self._writer, self._version(), self._chance, shared=self._serial)

    def _key(self, table: TargetTable) -> tuple[str, list[Any]]:
        """WHERE for one of the writer's rows, or some of them where there is no key."""
        if not table.key:
            return "w = %s AND n %% 7 = %s", [self._writer, self._chance.randrange(7)]
        key = table.key_of(table.number(self._writer, self._chance))
        return " AND ".join([f"k{n} = %s" for n in range(len(key))] + ["w = %s"]), [*key, self._writer]

    def _insert(self, cursor: Any, table: TargetTable) -> None:
        self._put(cursor, table, "INSERT INTO", "")

    def _replace(self, cursor: Any, table: TargetTable) -> None:
        if table.name != "t0":  # its children would go with the old row, and are not of the row's number
            self._put(cursor, table, "REPLACE INTO", "")

    def _upsert(self, cursor: Any, table: TargetTable) -> None:
        self._put(cursor, table, "INSERT INTO", f" ON DUPLICATE KEY UPDATE n = {self._version()}, w = {self._writer}")

    def _put(self, cursor: Any, table: TargetTable, verb: str, behind: str) -> None:
        names = table.names
        marks = ", ".join(["%s"] * len(names))
        self._do(cursor, f"{verb} {table.name} ({', '.join(names)}) VALUES ({marks}){behind}", self._row(table))

    def _update(self, cursor: Any, table: TargetTable) -> None:
        where, key = self._key(table)
        self._set(cursor, table, where, key, limit=" LIMIT 1" if not table.key else "")

    def _set(self, cursor: Any, table: TargetTable, where: str, key: list[Any], *, limit: str = "") -> None:
        names = [f"c{n}" for n in range(len(table.values)) if self._chance.random() < 0.5]
        values = [table.values[int(name[1:])].value(self._chance) for name in names]
        if table.parent is not None and self._chance.random() < 0.4:
            names.append("p")
            values.append(table.parent_of(self._writer, self._chance))
        changes = "".join(f", {name} = %s" for name in names)
        # Rows of one statement have versions that differ all the same, as those before it did.
        version = self._version() * 1_000_003
        sql = f"UPDATE {table.name} SET n = {version} + n %% 1000003{changes} WHERE {where}{limit}"
        self._do(cursor, sql, [*values, *key])

    def _update_range(self, cursor: Any, table: TargetTable) -> None:
        self._set(cursor, table, "w = %s AND n %% 5 = %s", [self._writer, self._chance.randrange(5)])

    def _delete(self, cursor: Any, table: TargetTable) -> None:
        where, key = self._key(table)
        self._do(cursor, f"DELETE FROM {table.name} WHERE {where}{'' if table.key else ' LIMIT 1'}", key)

    def _delete_range(self, cursor: Any, table: TargetTable) -> None:
        sql = f"DELETE FROM {table.name} WHERE w = %s AND n %% 11 = %s"
        self._do(cursor, sql, [self._writer, self._chance.randrange(11)])

    def _large(self, cursor: Any, table: TargetTable) -> None:
        """Very many row changes: all rows of the writer, several times."""
        for _ in range(5):
            self._set(cursor, table, "w = %s", [self._writer])

    def _change_key(self, cursor: Any, table: TargetTable) -> None:
        where, key = self._key(table)
        self._set_key(cursor, table, where, key, table.key_of(table.number(self._writer, self._chance)))

    def _set_key(self, cursor: Any, table: TargetTable, where: str, key: list[Any], new: list[Any]) -> bool:
        names = ", ".join(f"k{n} = %s" for n in range(len(table.key)))
        sql = f"UPDATE {table.name} SET n = {self._version()}, {names} WHERE {where}"
        return self._do(cursor, sql, [*new, *key]) > 0

    def _swap_keys(self, cursor: Any, table: TargetTable) -> None:
        """By way of a key that nobody has."""
        where, one = self._key(table)
        _, two = self._key(table)
        free = table.key_of((table.rows * 3) * WRITERS + self._writer)
        for new, old in ((free, one), (one[:-1], two), (two[:-1], [*free, self._writer])):
            if not self._set_key(cursor, table, where, old, new):
                return

    def _move_unique(self, cursor: Any, table: TargetTable) -> None:
        where, key = self._key(table)
        value = table.unique_value(self._writer, self._chance, shared=self._serial)
        self._do(cursor, f"UPDATE {table.name} SET n = {self._version()}, u = %s WHERE {where}", [value, *key])

    def _swap_unique(self, cursor: Any, table: TargetTable) -> None:
        """Two rows exchange their unique value, by way of NULL."""
        cursor.execute(f"SELECT u FROM {table.name} WHERE w = %s AND u IS NOT NULL ORDER BY n LIMIT 2", [self._writer])
        found = [row[0] for row in cursor.fetchall()]
        if len(found) < 2:
            return
        for new, old in ((None, found[0]), (found[0], found[1])):
            sql = f"UPDATE {table.name} SET n = {self._version()}, u = %s WHERE u = %s AND w = %s"
            self._do(cursor, sql, [new, old, self._writer])


def prints_of(cursor: Any, tables: Sequence[TargetTable], writer: int | None) -> dict[tuple[str, int], Print]:
    """Of the rows as the cursor's transaction sees them. `writer`: only of its rows."""
    found: dict[tuple[str, int], Print] = {}
    for table in tables:
        where = f" WHERE w = {writer}" if writer is not None else ""
        cursor.execute(f"SELECT w, COUNT(*), SUM(n), BIT_XOR(n) FROM {table.name}{where} GROUP BY w")
        for owner, count, total, bits in cursor.fetchall():
            found[table.name, int(owner)] = int(count), int(total), int(bits)
    return found
