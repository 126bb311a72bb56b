"""A table with rows, and a thread that changes them at random while something reads them."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Iterable
from typing import Any, Protocol

from dev.servers.database import Database

Row = dict[str, Any]


class Stored(Protocol):
    @property
    def key(self) -> bytes | None: ...

    @property
    def value(self) -> bytes | None: ...


def fill(server: Database, table: str, rows: int) -> None:
    """Creates `table` with rows 0 to `rows` - 1, of version 0."""
    server.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, version BIGINT NOT NULL, text VARCHAR(40))")
    for start in range(0, rows, 1000):
        values = ", ".join(f"({number}, 0, 'before')" for number in range(start, min(rows, start + 1000)))
        server.execute(f"INSERT INTO {table} VALUES {values}")


def contents(server: Database, table: str) -> dict[int, Row]:
    rows = server.execute(f"SELECT id, version, text FROM {table}")
    return {row[0]: {"id": row[0], "version": row[1], "text": row[2]} for row in rows}


class Changes:
    """Updates, deletes, inserts and changes of the key, one transaction after the other. Versions rise from `after`."""

    def __init__(self, server: Database, table: str, keys: int, seed: int, pause: float = 0.0, after: int = 0) -> None:
        self._server, self._table, self._keys, self._pause = server, table, keys, pause
        self._random = random.Random(seed)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.version = after

    def __enter__(self) -> Changes:
        self._thread.start()
        return self

    def __exit__(self, *ignored: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        connection = self._server.connect(autocommit=True)
        with connection, connection.cursor() as cursor:
            while not self._stop.is_set():
                self.version += 1
                cursor.execute(self._statement(self._random.randrange(self._keys), self.version))
                time.sleep(self._pause)

    def _statement(self, key: int, version: int) -> str:
        kind = self._random.randrange(10)
        if kind < 5:
            return f"UPDATE {self._table} SET version = {version} WHERE id = {key}"
        if kind < 6:
            return f"DELETE FROM {self._table} WHERE id = {key}"
        if kind < 8:
            return f"INSERT IGNORE INTO {self._table} (id, version, text) VALUES ({key}, {version}, 'new')"
        if kind < 9:
            other = self._random.randrange(self._keys)
            return f"UPDATE IGNORE {self._table} SET id = {other}, version = {version} WHERE id = {key}"
        return f"UPDATE {self._table} SET version = {version} WHERE id BETWEEN {key} AND {key + 50}"


class Copied:
    """What a consumer of a table's Debezium records has at the end.

    Attributes:
        rows: by key.
        operations: of all records, without tombstones.
        read: keys of the records of a snapshot.
        backwards: keys whose version fell.
    """

    def __init__(self, records: Iterable[Stored]) -> None:
        self.rows: dict[int, Row] = {}
        self.operations: list[str] = []
        self.read: list[int] = []
        self.backwards: list[int] = []
        versions: dict[int, int] = {}
        for record in records:
            key = json.loads(record.key or b"")["id"]
            value = json.loads(record.value or b"null")
            if value is not None:
                self.operations.append(value["op"])
            if value is None or value["op"] == "d":
                self.rows.pop(key, None)
                continue
            row = value["after"]
            self.rows[key] = row
            if value["op"] == "r":
                self.read.append(key)
            if row["version"] < versions.get(key, 0):
                self.backwards.append(key)
            versions[key] = row["version"]
