"""Load: commits transactions to `shop.hot_item` on a real server and keeps a journal of them."""

from __future__ import annotations

import json
import random
import threading
import time
from typing import Any

import pymysql
from pymysql.constants import CLIENT

from dev.checker.history import Change, Journal, Op, Transaction
from dev.fetch.releases import Release
from dev.servers.database import Database

TABLE = """
CREATE TABLE IF NOT EXISTS {database}.hot_item (
    id BIGINT NOT NULL PRIMARY KEY,
    sku VARCHAR(40) NOT NULL,
    stock INT NOT NULL,
    price DECIMAL(10,2) NOT NULL,
    updated_at DATETIME(3) NOT NULL,
    payload JSON NULL,
    note VARCHAR(200) NULL,
    counter INT NOT NULL,
    serial BIGINT NOT NULL
)"""

SIDE = "CREATE TABLE IF NOT EXISTS {database}.side (id BIGINT NOT NULL PRIMARY KEY, text VARCHAR(60) NOT NULL)"
FILL = """
INSERT /*+ SET_VAR(cte_max_recursion_depth = 10000000) */ INTO {database}.side
WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < {rows}) SELECT i, REPEAT('x', 50) FROM n"""


def _spelled(sql: str, release: Release) -> str:
    """For releases without JSON, and without fractions of a second."""
    if release.flavour == "mysql" and release.version < (5, 7, 8):
        sql = sql.replace(" JSON ", " LONGTEXT ")
    if release.flavour == "mysql" and release.version < (5, 6, 4):
        sql = sql.replace("DATETIME(3)", "DATETIME").replace("NOW(3)", "NOW()")
    return sql


class Writer:
    """Inserts, updates and deletes in transactions of 1 to `most_rows` changes, in a thread of its own.

    A commit whose answer is lost is resolved by looking at the table once the server is back, so that the journal ends
    without "unknown" unless the server stays away.

    Args:
        rate: transactions per second, at most.
        keys: how many different rows there are.
        journal: where transactions are kept; a list by default.
    """

    def __init__(
        self,
        server: Database,
        *,
        database: str = "shop",
        rate: float = 150,
        keys: int = 300,
        most_rows: int = 6,
        seed: int = 1,
        journal: Journal | None = None,
    ) -> None:
        self._server = server
        self._database = database
        self._rate = rate
        self._keys = keys
        self._most_rows = most_rows
        self._random = random.Random(seed)
        self._counters: dict[int, int] = {}
        self._alive: set[int] = set()
        self._serial = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._unknown: Transaction | None = None  # its COMMIT was not answered
        self._large, self._side_rows = 0, 0
        self.journal: Journal = [] if journal is None else journal
        self.error: BaseException | None = None

    def prepare(self) -> None:
        self._server.execute(f"CREATE DATABASE IF NOT EXISTS {self._database} CHARACTER SET utf8mb4")
        self._server.execute(_spelled(TABLE.format(database=self._database), self._server.release))
        self._server.execute(SIDE.format(database=self._database))

    def start(self) -> Writer:
        self.prepare()
        self._thread.start()
        return self

    def stop(self) -> Journal:
        """Ends after the current transaction. Raises what went wrong in the thread."""
        self._stop.set()
        self._thread.join(60)
        if self._unknown is not None:
            self.journal.append(self._unknown)
            self._unknown = None
        if self.error is not None:
            raise self.error
        return self.journal

    def close(self) -> None:
        """Ends the thread; whatever it met is not raised. Also fine before `start` and after `stop`."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(60)

    def move(self, server: Database) -> None:
        """Writes to another server of the same data from the next connection on."""
        self._server = server

    def burst(self, transactions: int, rows: int) -> None:
        """From any thread: makes the next transactions large. Each inserts and deletes `rows` rows of the table `side`,
        which is not judged, and changes most rows of `hot_item` in between."""
        self._side_rows, self._large = rows, transactions

    def rows(self) -> dict[int, dict[str, object]]:
        """The table as it is now, in the form that `consumer.row_of` gives."""
        found = self._server.execute(
            f"SELECT id, sku, stock, price, payload, note, counter, serial FROM {self._database}.hot_item"
        )
        names = ("sku", "stock", "price", "payload", "note", "counter", "serial")
        table: dict[int, dict[str, object]] = {}
        for key, *values in found:
            row = dict(zip(names, values, strict=True))
            row["price"] = str(row["price"])
            row["payload"] = None if row["payload"] is None else json.loads(str(row["payload"]))
            table[key] = row
        return table

    def _run(self) -> None:
        try:
            connection: pymysql.connections.Connection[Any] | None = None
            begun, done = time.monotonic(), 0
            while not self._stop.is_set():
                wait = begun + done / self._rate - time.monotonic()
                if wait > 0:
                    time.sleep(wait)
                done += 1
                if connection is None:
                    connection = self._connect()
                    continue
                if not self._transaction(connection):
                    connection = None
        except BaseException as error:
            self.error = error

    def _connect(self) -> pymysql.connections.Connection[Any] | None:
        try:
            connection = self._server.connect(
                autocommit=False, read_timeout=20, write_timeout=20, client_flag=CLIENT.MULTI_STATEMENTS
            )
            if self._unknown is not None:
                self._resolve(connection, self._unknown)
                self._unknown = None
            return connection
        except (pymysql.Error, OSError):
            time.sleep(0.2)
            return None

    def _transaction(self, connection: pymysql.connections.Connection[Any]) -> bool:
        large = self._large > 0
        count = self._keys * 2 // 3 if large else self._random.randint(1, self._most_rows)
        keys = self._random.sample(range(1, self._keys + 1), count)
        changes = [self._change(key) for key in keys]
        transaction = Transaction(len(self.journal), changes, "unknown")
        committing = False
        try:
            with connection.cursor() as cursor:
                statements = [cursor.mogrify(*self._statement(change)) for change in changes]
                if large:
                    self._large -= 1
                    fill = FILL.format(database=self._database, rows=self._side_rows)
                    statements = [fill, *statements, f"DELETE FROM {self._database}.side"]
                cursor.execute(_spelled(";".join(statements), self._server.release))
                while cursor.nextset():
                    continue
            committing = True
            connection.commit()
        except (pymysql.Error, OSError):
            if committing:
                self._unknown = transaction
            return False
        self._committed(transaction)
        return True

    def _committed(self, transaction: Transaction) -> None:
        transaction.outcome, transaction.committed_at = "committed", time.time()
        self.journal.append(transaction)
        self._took_effect(transaction.changes)

    def _change(self, key: int) -> Change:
        self._serial += 1
        op: Op = "c"
        if key in self._alive:
            op = "d" if self._random.random() < 0.15 else "u"
        return Change(key, self._counters.get(key, 0) + 1, self._serial, op)

    def _statement(self, change: Change) -> tuple[str, tuple[object, ...]]:
        table = f"{self._database}.hot_item"
        if change.op == "d":
            return f"DELETE FROM {table} WHERE id = %s", (change.key,)
        values = (
            f"sku-{change.key}-ü",
            self._random.randint(0, 10_000),
            f"{self._random.randint(0, 999_999) / 100:.2f}",
            json.dumps({"n": change.serial, "tags": ["a", "ß", "😀"]}) if change.serial % 3 else None,
            f'note "{change.serial}"\n' if change.serial % 2 else None,
            change.counter,
            change.serial,
        )
        columns = (
            "sku = %s, stock = %s, price = %s, payload = %s, note = %s, counter = %s, serial = %s, updated_at = NOW(3)"
        )
        if change.op == "c":
            return f"INSERT INTO {table} SET {columns}, id = %s", (*values, change.key)
        return f"UPDATE {table} SET {columns} WHERE id = %s", (*values, change.key)

    def _took_effect(self, changes: list[Change]) -> None:
        for change in changes:
            self._counters[change.key] = change.counter
            if change.op == "d":
                self._alive.discard(change.key)
            else:
                self._alive.add(change.key)

    def _resolve(self, connection: pymysql.connections.Connection[Any], transaction: Transaction) -> None:
        """A transaction is all or nothing: its first change tells. The locking read waits for a COMMIT that the server
        is still at: a plain one would see the row as it was before and the journal would lie."""
        change = transaction.changes[0]
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT counter FROM {self._database}.hot_item WHERE id = %s FOR UPDATE", (change.key,))
            row = cursor.fetchone()
        connection.commit()
        done = row is None if change.op == "d" else row is not None and row[0] == change.counter
        if done:  # else it never was, and its names are used again
            self._committed(transaction)
