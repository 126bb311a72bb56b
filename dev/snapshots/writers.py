"""Threads that change rows of random tables, and write down what they have changed."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import pymysql

from dev.servers.database import Database
from dev.snapshots.journal import Changed, Journal
from dev.snapshots.tables import RandomTable, Versions

_REFUSED: Final = frozenset({1022, 1062, 1205, 1213, 1412})
"""Duplicate keys, lock waits, deadlocks, another definition: the statement has changed nothing."""
_ROLLED_BACK: Final = frozenset({1205, 1213, 1412})
"""Of these, those after which the transaction is given up."""
_NO_SUCH_BRANCH: Final = 1397
_EMPTY_BRANCH: Final = 1402
_LOST_BRANCH: Final = frozenset({1614, 1399, 1402, 1613})


class Place:
    """Which server is written to. It is changed while all tables are locked."""

    def __init__(self, server: Database) -> None:
        self.server = server


class Writer:
    """One thread with rows of its own.

    Args:
        pause: longest time between two transactions, seconds.

    Attributes:
        prepares: some of its transactions are XA transactions. A task can't have those that were prepared before it.
    """

    def __init__(
        self,
        place: Place,
        database: str,
        tables: list[RandomTable],
        journal: Journal,
        versions: Versions,
        *,
        number: int,
        seed: str,
        pause: float,
    ) -> None:
        self._place, self._database, self._tables = place, database, tables
        self._journal, self._versions, self._slice = journal, versions, number
        self._chance = random.Random(f"{seed}/writer{number}")
        self._pause = pause
        self._branches = f"{database}/{number}"
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"writer-{number}", daemon=True)
        self._connection: pymysql.connections.Connection[Any] | None = None
        self._pending: list[Changed] = []
        self.transactions = 0
        self.prepares = threading.Event()
        self.error: BaseException | None = None

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
            while not self._stop.is_set():
                table = self._chance.choice(self._tables)
                with table.lock.shared():
                    self._transaction(self._place.server, table)
                time.sleep(self._chance.uniform(0, self._pause))
        except BaseException as error:
            self.error = error
        finally:
            self._disconnect()

    def _transaction(self, server: Database, table: RandomTable) -> None:
        outcome: Callable[[], None] | None = None
        try:
            connection = self._connected(server)
            with connection.cursor() as cursor:
                self._pending = []
                outcome = self._unknown
                in_parts = self.prepares.is_set() and self._chance.random() < 0.04
                done = self._prepared(server, cursor, table) if in_parts else self._committed(cursor, table)
                outcome = self._known if done else None
                self.transactions += 1
        except (pymysql.Error, OSError) as error:
            number = error.args[0] if error.args else 0
            self._disconnect()
            if isinstance(number, int) and 1000 <= number < 2000 and number not in (1053, 1290, 1836, 1927, 1158, 1159):
                raise
            time.sleep(0.1)  # the server is away
        finally:
            if outcome is not None:
                outcome()

    def _committed(self, cursor: Any, table: RandomTable) -> bool:
        """False: it is rolled back."""
        cursor.execute("BEGIN")
        whole = self._change(cursor, table) and self._chance.random() > 0.06
        cursor.execute("COMMIT" if whole else "ROLLBACK")
        return whole

    def _prepared(self, server: Database, cursor: Any, table: RandomTable) -> bool:
        """An XA transaction, which another session may end than the one that began it."""
        branch = f"'{self._branches}.{self.transactions}'"
        cursor.execute(f"XA START {branch}")
        do = self._chance.choice((self._update, self._delete, self._insert, self._change_key, self._update_range))
        whole = do(cursor, table)
        try:
            cursor.execute(f"XA END {branch}")
        except pymysql.Error as error:  # the branch has to be rolled back, as after 1213
            if error.args[0] not in _LOST_BRANCH:
                raise
            whole = False
        if not whole:
            cursor.execute(f"XA ROLLBACK {branch}")
            return False
        cursor.execute(f"XA PREPARE {branch}")
        time.sleep(self._chance.choice((0, 0, 0.02)))
        whole = self._chance.random() > 0.2
        if self._chance.random() < 0.5:
            self._disconnect()
            cursor = self._connected(server, own_branches=True).cursor()
        return self._end(cursor, f"XA {'COMMIT' if whole else 'ROLLBACK'} {branch}") and whole

    def _end(self, cursor: Any, statement: str) -> bool:
        """The server needs a moment to notice that the branch has lost its session. False: it has rolled it back, as
        MariaDB does with one that has changed nothing."""
        for _ in range(1000):
            try:
                cursor.execute(statement)
            except pymysql.Error as error:
                if error.args[0] == _EMPTY_BRANCH:
                    return False
                if error.args[0] != _NO_SUCH_BRANCH:
                    raise
                time.sleep(0.002)
            else:
                return True
        raise TimeoutError(statement)

    def _known(self) -> None:
        self._journal.wrote(self._pending)

    def _unknown(self) -> None:
        self._journal.wrote([Changed(each.version, each.table, each.rows, "unknown") for each in self._pending])

    def _connected(self, server: Database, *, own_branches: bool = False) -> pymysql.connections.Connection[Any]:
        """`own_branches`: those that are prepared are wanted; else they are of a time before an error."""
        if self._connection is not None and self._connection.port != server.port:
            self._disconnect()
        if self._connection is None:
            self._connection = server.connect(
                database=self._database, autocommit=True, read_timeout=30, write_timeout=30, connect_timeout=3
            )
            with self._connection.cursor() as cursor:
                cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
                cursor.execute("SET SESSION innodb_lock_wait_timeout = 3")
                cursor.execute("SET SESSION sql_mode = 'NO_ENGINE_SUBSTITUTION'")
                if not own_branches:
                    self._roll_back_branches(cursor)
        return self._connection

    def _roll_back_branches(self, cursor: Any) -> None:
        cursor.execute("XA RECOVER")
        for _, length, _, data in cursor.fetchall():
            if str(data[:length]).startswith(f"{self._branches}."):
                self._end(cursor, f"XA ROLLBACK '{data[:length]}'")

    def _disconnect(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(pymysql.Error, OSError):
                self._connection.close()
            self._connection = None

    # What a transaction does. Each gives False where it has to be rolled back.

    def _change(self, cursor: Any, table: RandomTable) -> bool:
        kinds: list[tuple[int, Callable[[Any, RandomTable], bool]]] = [
            (280, self._update),
            (100, self._delete),
            (180, self._insert),
            (100, self._change_key),
            (60, self._several),
            (20, self._update_range),
            (10, self._delete_range),
            (1, self._large),
        ]
        if table.keyed:
            kinds += [(80, self._replace), (60, self._upsert), (50, self._swap_keys), (40, self._other_text)]
        return self._chance.choices([do for _, do in kinds], [weight for weight, _ in kinds])[0](cursor, table)

    def _several(self, cursor: Any, table: RandomTable) -> bool:
        for _ in range(self._chance.randint(2, 12)):
            do = self._chance.choice((self._update, self._delete, self._insert, self._change_key))
            if not do(cursor, table):
                return False
            if self._chance.random() < 0.1:
                before = len(self._pending)
                cursor.execute("SAVEPOINT s")
                if not self._update(cursor, table):
                    return False
                cursor.execute("ROLLBACK TO SAVEPOINT s")
                del self._pending[before:]
        return True

    def _update(self, cursor: Any, table: RandomTable) -> bool:
        version = self._versions.next()
        changed, values = self._new_values(table)
        sql = f"UPDATE {table.name} SET v = %s{changed} WHERE {table.where_key} AND w = {self._slice}"
        return self._do(cursor, table, version, sql, [version, *values, *self._key(table)])

    def _delete(self, cursor: Any, table: RandomTable) -> bool:
        sql = f"DELETE FROM {table.name} WHERE {table.where_key} AND w = {self._slice}"
        return self._do(cursor, table, 0, sql, self._key(table))

    def _insert(self, cursor: Any, table: RandomTable) -> bool:
        version = self._versions.next()
        number = table.number_for(self._slice, self._chance)
        row = table.row(number, self._slice, version, self._chance)
        return self._do(cursor, table, version, f"INSERT INTO {table.name} {table.insert}", row)

    def _replace(self, cursor: Any, table: RandomTable) -> bool:
        version = self._versions.next()
        number = table.number_for(self._slice, self._chance)
        row = table.row(number, self._slice, version, self._chance)
        return self._do(cursor, table, version, f"REPLACE INTO {table.name} {table.insert}", row, rows=1)

    def _upsert(self, cursor: Any, table: RandomTable) -> bool:
        version = self._versions.next()
        row = table.row(table.number_for(self._slice, self._chance), self._slice, version, self._chance)
        sql = f"INSERT INTO {table.name} {table.insert} ON DUPLICATE KEY UPDATE v = {version}"
        return self._do(cursor, table, version, sql, row, rows=1)

    def _change_key(self, cursor: Any, table: RandomTable) -> bool:
        version = self._versions.next()
        names = ", ".join(f"k{index} = %s" for index in range(len(table.key)))
        sql = f"UPDATE {table.name} SET v = {version}, {names} WHERE {table.where_key} AND w = {self._slice}"
        new = table.key_of(table.number_for(self._slice, self._chance))
        return self._do(cursor, table, version, sql, [*new, *self._key(table)])

    def _other_text(self, cursor: Any, table: RandomTable) -> bool:
        """An update of the key to another text of the same key."""
        version = self._versions.next()
        names = ", ".join(f"k{index} = %s" for index in range(len(table.key)))
        sql = f"UPDATE {table.name} SET v = {version}, {names} WHERE {table.where_key} AND w = {self._slice}"
        key = self._key(table)
        return self._do(cursor, table, version, sql, [*table.other_text(key), *key])

    def _swap_keys(self, cursor: Any, table: RandomTable) -> bool:
        """Two rows change places, by way of a key that nobody has."""
        one, two = self._key(table), self._key(table)
        free = table.key_of((table.rows * 2 + 50) // 3 * 3 + self._slice)
        names = ", ".join(f"k{index} = %s" for index in range(len(table.key)))
        for new, old in ((free, one), (one, two), (two, free)):
            version = self._versions.next()
            sql = f"UPDATE {table.name} SET v = {version}, {names} WHERE {table.where_key} AND w = {self._slice}"
            before = len(self._pending)
            if not self._do(cursor, table, version, sql, [*new, *old]) or len(self._pending) == before:
                return False
        return True

    def _update_range(self, cursor: Any, table: RandomTable) -> bool:
        version = self._versions.next()
        changed, values = self._new_values(table)
        limit = self._chance.choice((5, 60, 400))
        sql = f"UPDATE {table.name} SET v = %s{changed} WHERE w = {self._slice} AND k0 >= %s LIMIT {limit}"
        return self._do(cursor, table, version, sql, [version, *values, self._key(table)[0]])

    def _delete_range(self, cursor: Any, table: RandomTable) -> bool:
        sql = f"DELETE FROM {table.name} WHERE w = {self._slice} AND k0 >= %s LIMIT {self._chance.choice((5, 40))}"
        return self._do(cursor, table, 0, sql, [self._key(table)[0]])

    def _large(self, cursor: Any, table: RandomTable) -> bool:
        """All rows of the slice, more than once."""
        for _ in range(self._chance.randint(1, 3)):
            version = self._versions.next()
            changed, values = self._new_values(table)
            sql = f"UPDATE {table.name} SET v = %s{changed} WHERE w = {self._slice}"
            if not self._do(cursor, table, version, sql, [version, *values]):
                return False
        return True

    def _new_values(self, table: RandomTable) -> tuple[str, list[Any]]:
        """A part of the SET clause, and its values."""
        chosen = [name for name in table.values if self._chance.random() < 0.3]
        return "".join(f", {name} = %s" for name in chosen), [table.values[name].value(self._chance) for name in chosen]

    def _key(self, table: RandomTable) -> tuple[Any, ...]:
        number = self._chance.randrange(table.rows + 1) // 3 * 3 + self._slice
        key = table.key_of(number)
        return table.other_text(key) if self._chance.random() < 0.2 else key

    def _do(
        self, cursor: Any, table: RandomTable, version: int, sql: str, arguments: Sequence[Any], rows: int | None = None
    ) -> bool:
        """`rows`: how many new images it makes; None: as many as the server says it has matched."""
        try:
            found = cursor.execute(sql, arguments)
        except pymysql.Error as error:
            if error.args[0] not in _REFUSED:
                raise
            return error.args[0] not in _ROLLED_BACK
        if version and found:
            self._pending.append(Changed(version, table.number, found if rows is None else rows, "committed"))
        return True
