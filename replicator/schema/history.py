"""The history of a task: what its store holds, read as of a position."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from replicator.model.gtid import GtidSet, MariaDBPosition
from replicator.model.position import Position
from replicator.model.schema import Reading, SchemaRecord
from replicator.ports import HistoryStore
from replicator.schema import parser
from replicator.schema.apply import Misfit
from replicator.schema.changes import Effects, Key
from replicator.schema.charsets import Text
from replicator.schema.codec import pack, unpack
from replicator.schema.drafts import CreateTable
from replicator.schema.early import Early
from replicator.schema.schema import Schema
from replicator.schema.tokens import NotUnderstood

COMPACT: Final = 500
"""Records after a base that make it worth to write another one."""


class State(msgspec.Struct):
    """Definitions as of a position.

    Attributes:
        base: from where on the definitions of the base hold.
        early: not None as long as the stream has not reached `base`.
        later: what statements behind the position did when they came by the last time, by `identity`.
        told: tables as operators described them, for statements that we can't read.
    """

    schema: Schema
    base: Position
    early: Early | None
    later: dict[tuple[str, str], Effects]
    told: dict[Key, bytes]


class History:
    """
    Args:
        read: reads the server's definitions; None: the source can't be asked, and the history begins empty.
    """

    def __init__(self, store: HistoryStore, *, mariadb: bool, read: Callable[[], Reading] | None) -> None:
        self.mariadb = mariadb
        self._store = store
        self._read = read

    def append(self, record: SchemaRecord) -> None:
        self._store.append(record)

    def state(self, position: Position) -> State:
        """Definitions as of `position`; the server's are read when there is no history yet.

        Raises:
            SourceError: the definitions can't be read.
            ProcessError: E5014.
        """
        records = list(self._store.load())
        if not records:
            records = [self._first(position)]
            self._store.append(records[0])
        state = self._as_of(records, position)
        if len(records) > COMPACT and state.early is None:
            self._compact(records, state, position)
        return state

    def latest(self) -> Schema | None:
        """As of the last record; None without a history."""
        records = self._store.load()
        if not records:
            return None
        schema = self._new(records[0])
        for record in records:
            schema.take(unpack(record.data)[0])
        return schema

    def _new(self, base: SchemaRecord) -> Schema:
        effects, folded = unpack(base.data)
        schema = Schema(mariadb=self.mariadb, folded=folded)
        schema.take(effects)
        return schema

    def _as_of(self, records: Sequence[SchemaRecord], position: Position) -> State:
        base, *rest = records
        covers = Covering(position, mariadb=self.mariadb)
        from_base = Covering(base.position, mariadb=self.mariadb)
        schema = self._new(base)
        followed: set[Key] = set()
        last: dict[Key, tuple[int, int]] = {}
        early = not covers.position(base.position)
        state = State(schema, base.position, Early(schema, followed) if early else None, {}, {})
        for record in rest:
            if record.kind == "set":
                if covers.position(record.position):
                    self._tell(state, record, last)
            elif covers.statement(record):
                if early or not from_base.statement(record):
                    for key in self._take(state, record):
                        followed.add(key)
                        last[key] = record.position.order[:2]
            elif early or not from_base.statement(record):
                state.later[identity(record.gtid, record.position, record.digest)] = unpack(record.data)[0]
        return state

    @staticmethod
    def _take(state: State, record: SchemaRecord) -> list[Key]:
        effects, _ = unpack(record.data)
        state.schema.take(effects)
        changed = [(database, table) for database, table, _data in effects.tables]
        for key in changed:
            state.told.pop(key, None)
        return changed

    @staticmethod
    def _tell(state: State, record: SchemaRecord, last: Mapping[Key, tuple[int, int]]) -> None:
        """`last`: where each table was changed last."""
        effects, _ = unpack(record.data)
        for database, table, data in effects.tables:
            if data and last.get((database, table), (-1, -1)) <= record.position.order[:2]:
                state.schema.define_encoded((database, table), data)
                state.told[database, table] = data
        state.schema.effects()

    def _first(self, position: Position) -> SchemaRecord:
        if self._read is None:
            return base(Schema(mariadb=self.mariadb), position)
        reading = self._read()
        return base(schema_of(reading, mariadb=self.mariadb), reading.position)

    def _compact(self, records: Sequence[SchemaRecord], state: State, position: Position) -> None:
        """Statements behind `position` are kept; lost in a crash right here, they will come by again."""
        covers = Covering(position, mariadb=self.mariadb)
        self._store.append(base(state.schema, position))
        for record in records[1:]:
            if record.kind == "ddl" and not covers.statement(record):
                self._store.append(record)


def base(schema: Schema, position: Position) -> SchemaRecord:
    return SchemaRecord("base", position, data=pack(schema.snapshot(), folded=schema.folded))


def schema_of(reading: Reading, *, mariadb: bool) -> Schema:
    """A table whose CREATE TABLE can't be read is there and not known."""
    schema = Schema(mariadb=mariadb, folded=reading.folded)
    for name, (charset, collation) in reading.databases.items():
        schema.define_database(name, Text(charset, collation))
    for table in reading.tables:
        define(schema, (table.database, table.name), table.text)
    schema.effects()
    return schema


def define(schema: Schema, key: Key, text: str | None) -> bool:
    """Takes the text of SHOW CREATE TABLE, or one like it. False: it could not be understood."""
    schema.define(schema.key(key), None)
    try:
        operation = parser.parse(text or "", mariadb=schema.mariadb).operation
        if isinstance(operation, CreateTable):
            schema.apply(msgspec.structs.replace(operation, name=key, unless_exists=False), key[0])
    except (NotUnderstood, Misfit):
        return False
    return schema.get(schema.key(key)) is not None


def identity(gtid: str, position: Position, digest: str) -> tuple[str, str]:
    """Names a statement in the binlog."""
    return gtid or f"{position.file}:{position.offset}", digest


class Covering:
    """What is behind a position: by GTID where both have one, else by the order of files of one server."""

    def __init__(self, position: Position, *, mariadb: bool) -> None:
        self._position = position
        self._mysql = GtidSet.parse(position.gtid) if position.gtid and not mariadb else None
        self._mariadb = MariaDBPosition.parse(position.gtid) if position.gtid and mariadb else None

    def statement(self, record: SchemaRecord) -> bool:
        """Whether the statement is done at this position."""
        if record.gtid and self._mysql is not None:
            tsid, _, number = record.gtid.rpartition(":")
            return self._mysql.contains(tsid, int(number))
        if record.gtid and self._mariadb is not None:
            domain, _, number = record.gtid.split("-")
            return self._mariadb.contains(int(domain), int(number))
        return record.position.order[:2] < self._position.order[:2]

    def position(self, other: Position) -> bool:
        """Whether `other` is this position or lies before it."""
        if other.gtid and self._mysql is not None:
            return GtidSet.parse(other.gtid).subset(self._mysql)
        if other.gtid and self._mariadb is not None:
            return MariaDBPosition.parse(other.gtid).subset(self._mariadb)
        return other.order[:2] <= self._position.order[:2]
