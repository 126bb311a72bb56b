"""Definitions as of a position: the records of a history, applied up to there."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from replicator.model.position import Position
from replicator.model.schema import SchemaRecord
from replicator.schema.changes import Effects, Key
from replicator.schema.codec import unpack
from replicator.schema.covering import Covering, Identity, identity
from replicator.schema.early import Early, Look
from replicator.schema.schema import Schema


class State(msgspec.Struct):
    """Definitions as of a position.

    Attributes:
        early: not None as long as the stream has not reached a position that definitions were read at.
        later: what statements behind the position did when they came by the last time, by `identity`.
        told: tables as operators described them, for statements that we can't read.
    """

    schema: Schema
    early: Early | None
    later: dict[Identity, Effects]
    told: dict[Key, bytes]

    def all_keys(self) -> frozenset[Key]:
        """Of all tables that are known now or later."""
        return frozenset((*self.schema.names(), *(self.early.later if self.early is not None else ())))

    def knows(self, key: Key) -> bool:
        return bool(self.schema.encoded(key) or (self.early is not None and self.early.declared(key)))

    def reach(self, record: SchemaRecord) -> dict[Key, bytes]:
        """The stream comes to the statement of `record`: what was read at a position that it has passed holds from here
        on. Returns tables that were not read there and that statements have made known."""
        early = self.early
        ends = len(early.ends) if early is not None else 0
        reached = early.reach(record) if early is not None else []
        if early is None or len(early.ends) == ends:
            return {}
        for key, later in reached:
            if later.data or key not in self.schema:
                self.schema.define_encoded(key, later.data)
        self.schema.effects()
        if early.ends:
            return {}
        self.early = None
        names = {key for key, _ in reached}
        return {key: data for key in self.schema.names() if key not in names and (data := self.schema.encoded(key))}


def as_of(records: Sequence[SchemaRecord], position: Position, schema: Schema, look: Look | None) -> State:
    """
    Args:
        records: the first one is a base.
        schema: without tables.
        look: see `Early`.
    """
    early = Early(schema, look, mariadb=schema.mariadb)
    state = State(schema, early, {}, {})
    replay = _Replay(state, early, records[0].position, position)
    for record in (found for one in records for found in (one, *one.ahead)):
        replay.take(record)
    if not early.ends:
        state.early = None
    return state


class _Replay:
    def __init__(self, state: State, early: Early, base: Position, position: Position) -> None:
        self._state = state
        self._early = early
        self._mariadb = state.schema.mariadb
        self._covers = Covering(position, mariadb=self._mariadb)
        self._base = Covering(base, mariadb=self._mariadb)
        self._based = self._covers.position(base)
        self._read: dict[Key, tuple[Covering, Position]] = {}  # where definitions were read last
        self._changed: dict[Key, tuple[int, int]] = {}  # where a statement changed a table last

    def take(self, record: SchemaRecord) -> None:
        effects, _ = unpack(record.data)
        if record.kind in ("base", "read"):
            self._take_reading(record, effects)
        elif record.kind == "set":
            if self._covers.position(record.position):
                self._take_told(record, effects)
        elif self._covers.statement(record):
            self._take_statement(record, effects)
        elif not self._based or self._early.ends or not self._base.statement(record):
            self._state.later[identity(record.gtid, record.position, record.digest)] = effects

    def _take_reading(self, record: SchemaRecord, effects: Effects) -> None:
        schema, start = self._state.schema, Covering(record.position, mariadb=self._mariadb)
        for database, table, _ in effects.tables:
            self._read[database, table] = (start, record.position)
        if self._covers.position(record.position):
            databases = () if record.kind == "base" else effects.databases
            schema.take(Effects(effects.tables, databases))
            return
        self._early.add(record.position, effects)
        if record.scope is not None:  # what is known of these tables is of a time when nobody followed them
            schema.take(Effects(tuple((database, table, None) for database, table, _ in effects.tables)))

    def _take_told(self, record: SchemaRecord, effects: Effects) -> None:
        state = self._state
        for database, table, data in effects.tables:
            key = (database, table)
            changed = self._changed.get(key, (-1, -1)) > record.position.order[:2]
            if data and not changed and not self._read_since(key, record.position):
                state.schema.define_encoded(key, data)
                state.told[key] = data
        state.schema.effects()

    def _read_since(self, key: Key, position: Position) -> bool:
        """Whether the server has been asked behind `position`, and a definition had that the stream has reached."""
        read = self._read.get(key)
        if read is None or not self._covers.position(read[1]) or not self._state.schema.encoded(key):
            return False
        return read[0].before(position, mariadb=self._mariadb)

    def _take_statement(self, record: SchemaRecord, effects: Effects) -> None:
        tables = tuple(one for one in effects.tables if self._is_news((one[0], one[1]), record))
        databases = effects.databases if not (self._based and self._base.statement(record)) else ()
        self._state.schema.take(Effects(tables, databases))
        for database, table, data in tables:
            key = (database, table)
            self._state.told.pop(key, None)
            self._changed[key] = record.position.order[:2]
            (self._early.gone.discard if data is not None else self._early.gone.add)(key)

    def _is_news(self, key: Key, record: SchemaRecord) -> bool:
        """Whether the statement is not in what was read of the table, at a position that the stream has reached."""
        read = self._read.get(key)
        if read is None:
            return not (self._based and self._base.statement(record))
        return not (self._covers.position(read[1]) and read[0].statement(record))
