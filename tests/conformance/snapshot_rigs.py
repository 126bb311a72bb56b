"""Sources of snapshots whose tables tests can change: memory twin, MySQL and MariaDB."""

from __future__ import annotations

import abc
import contextlib
import dataclasses
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import msgspec

from dev.servers import Database
from replicator.config.task import MySQLSource as Config
from replicator.model.position import Position
from replicator.pipeline.ports import SnapshotSource
from replicator.source.memory_snapshot import MemorySnapshotSource, MemoryTable, MemoryTables
from replicator.source.mysql import MySQLSource
from replicator.source.mysql.snapshot import MySQLSnapshotSource
from tests.support.binlog_writer import VARCHAR, BinlogWriter, Column, MemoryBinlog, TableSpec, image

Row: TypeAlias = tuple[int, str, int | None]
"""Columns `a INT NOT NULL`, `b VARCHAR(20) NOT NULL`, `v INT`."""


class Rig(abc.ABC):
    """A source of snapshots and the means to change its tables. Tables are named without their database."""

    database: str

    @abc.abstractmethod
    def source(self, where: Mapping[str, str] | None = None) -> SnapshotSource: ...

    def locking_source(self) -> SnapshotSource:
        """With an account that may lock the server."""
        return self.source()

    @abc.abstractmethod
    def position(self) -> Position:
        """End of the log, with its server."""

    @abc.abstractmethod
    def create(self, table: str, key: Sequence[str] = ("a",)) -> None:
        """A table of `Row` with this primary key."""

    @abc.abstractmethod
    def insert(self, table: str, rows: Sequence[Row]) -> None: ...

    @abc.abstractmethod
    def delete(self, table: str, a: int) -> None: ...

    @abc.abstractmethod
    def drop(self, table: str) -> None: ...

    @abc.abstractmethod
    def add_column(self, table: str) -> None:
        """A fourth one, `w INT NOT NULL DEFAULT 7`."""

    @abc.abstractmethod
    def change_key(self, table: str, key: Sequence[str]) -> None: ...

    @abc.abstractmethod
    def stall(self, table: str) -> contextlib.AbstractContextManager[None]:
        """While it is entered, a read of the table waits at the server."""

    @abc.abstractmethod
    def disconnect(self) -> None:
        """Cuts the connections of all readers."""

    def name(self, table: str) -> str:
        return f"{self.database}.{table}"


class Real(Rig):
    def __init__(self, server: Database) -> None:
        self.server = server
        self.database = f"snap_{uuid.uuid4().hex[:10]}"
        server.execute(f"CREATE DATABASE {self.database} CHARACTER SET utf8mb4")
        user, self.password = server.replicator
        settings = {"type": server.release.flavour, "port": server.port, "user": user, "password": "env:X"}
        self.config = Config.model_validate(settings | {"tables": [f"{self.database}.*"]})

    def source(self, where: Mapping[str, str] | None = None) -> SnapshotSource:
        return MySQLSnapshotSource(self.config, self.password, where or {})

    def locking_source(self) -> SnapshotSource:
        self.server.execute("CREATE USER IF NOT EXISTS locker@'%' IDENTIFIED BY 'locker'")
        self.server.execute("GRANT SELECT, REPLICATION SLAVE, REPLICATION CLIENT, RELOAD ON *.* TO locker@'%'")
        return MySQLSnapshotSource(self.config.model_copy(update={"user": "locker"}), "locker", {})

    def position(self) -> Position:
        source = MySQLSource(self.config, "conformance", self.password)
        return msgspec.structs.replace(source.end_position(), server=source.start_position().server)

    def create(self, table: str, key: Sequence[str] = ("a",)) -> None:
        columns = "a INT NOT NULL, b VARCHAR(20) NOT NULL, v INT"
        primary = f", PRIMARY KEY ({', '.join(key)})" if key else ""
        self.server.execute(f"CREATE TABLE {self.name(table)} ({columns}{primary})")

    def insert(self, table: str, rows: Sequence[Row]) -> None:
        marks = ", ".join(["(%s, %s, %s)"] * len(rows))
        values = [value for row in rows for value in row]
        self.server.execute(f"INSERT INTO {self.name(table)} (a, b, v) VALUES {marks}", values)

    def delete(self, table: str, a: int) -> None:
        self.server.execute(f"DELETE FROM {self.name(table)} WHERE a = %s", (a,))

    def drop(self, table: str) -> None:
        self.server.execute(f"DROP TABLE {self.name(table)}")

    def add_column(self, table: str) -> None:
        self.server.execute(f"ALTER TABLE {self.name(table)} ADD COLUMN w INT NOT NULL DEFAULT 7")

    def change_key(self, table: str, key: Sequence[str]) -> None:
        self.server.execute(f"ALTER TABLE {self.name(table)} DROP PRIMARY KEY, ADD PRIMARY KEY ({', '.join(key)})")

    @contextlib.contextmanager
    def stall(self, table: str) -> Iterator[None]:
        connection = self.server.connect()
        try:
            with connection.cursor() as cursor:
                cursor.execute(f"LOCK TABLES {self.name(table)} WRITE")
            yield
        finally:
            connection.close()

    def disconnect(self) -> None:
        rows = self.server.execute("SELECT id FROM information_schema.processlist WHERE user = %s", ("replicator",))
        for (thread,) in rows:
            with contextlib.suppress(Exception):
                self.server.execute(f"KILL {thread}")


class Memory(Rig):
    """Each change is a transaction of its own in a memory server's log."""

    database = "snap"

    def __init__(self) -> None:
        self.log = MemoryBinlog()
        self.tables = MemoryTables(self.log.server.end)
        self.specs: dict[str, TableSpec] = {}
        self.rows: dict[str, list[tuple[int | str | None, ...]]] = {}

    def source(self, where: Mapping[str, str] | None = None) -> SnapshotSource:
        assert set((where or {}).values()) <= {"v IS NULL"}
        return MemorySnapshotSource(self.tables, {table: lambda row: bool(row[0] & 4) for table in where or {}})

    def position(self) -> Position:
        return msgspec.structs.replace(self.log.server.end(), server="memory@1/4:5")

    def create(self, table: str, key: Sequence[str] = ("a",)) -> None:
        columns = (Column("a", nullable=False), Column("b", VARCHAR, nullable=False, length=80), Column("v"))
        self.specs[table] = TableSpec(self.database, table, columns)
        self.rows[table] = []
        self._define(table, key)

    def insert(self, table: str, rows: Sequence[Row]) -> None:
        self.log.insert(*rows, table=self.specs[table])
        self.rows[table] += rows
        self._fill(table)

    def delete(self, table: str, a: int) -> None:
        self.rows[table] = [row for row in self.rows[table] if row[0] != a]
        self._fill(table)

    def drop(self, table: str) -> None:
        del self.tables.tables[self.name(table)]

    def add_column(self, table: str) -> None:
        old = self.specs[table]
        self.specs[table] = dataclasses.replace(old, columns=(*old.columns, Column("w", nullable=False)))
        self.rows[table] = [(*row, 7) for row in self.rows[table]]
        self._define(table, self.tables.tables[self.name(table)].key)

    def change_key(self, table: str, key: Sequence[str]) -> None:
        self._define(table, key)

    def stall(self, table: str) -> contextlib.AbstractContextManager[None]:
        return self.tables.stall(self.name(table))

    def disconnect(self) -> None:
        self.tables.disconnect()

    def _define(self, table: str, key: Sequence[str]) -> None:
        spec = self.specs[table]
        places = tuple("abv".index(name) for name in key)
        body = BinlogWriter(checksum=False).table_map(dataclasses.replace(spec, primary_key=places))[19:]
        with self.tables.changed:
            self.tables.tables[self.name(table)] = MemoryTable(body, tuple(key))
        self._fill(table)

    def _fill(self, table: str) -> None:
        spec = self.specs[table]
        with self.tables.changed:
            found = self.tables.tables[self.name(table)]
            places = ["abv".index(name) for name in found.key] or [0]
            found.rows = {
                tuple(value for place in places if (value := row[place]) is not None): image(spec, row)
                for row in self.rows[table]
            }
