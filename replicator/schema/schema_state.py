"""Table definitions as of a position, replayed from the records of the schema history."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from replicator.model.position import Position
from replicator.model.schema_history import SchemaRecord
from replicator.schema.ahead_of_stream import FindUpcomingDdl, FutureDefinitions
from replicator.schema.ddl_effects import Effects, Key
from replicator.schema.position_coverage import Identity, PositionCoverage, identity
from replicator.schema.record_codec import unpack
from replicator.schema.server_schema import ServerSchema


class SchemaState(msgspec.Struct):
    """Definitions as of a position.

    Attributes:
        future: not None as long as the stream has not reached a position that definitions were read at.
        known_effects: what statements behind the position did when they came by the last time, by `identity`.
        manual: tables as operators described them, for statements that we can't read.
    """

    schema: ServerSchema
    future: FutureDefinitions | None
    known_effects: dict[Identity, Effects]
    manual: dict[Key, bytes]

    def all_keys(self) -> frozenset[Key]:
        """Of all tables that are known now or later."""
        return frozenset((*self.schema.names(), *(self.future.definitions if self.future is not None else ())))

    def has_definition(self, key: Key) -> bool:
        return bool(self.schema.encoded(key) or (self.future is not None and self.future.definition(key)))

    def reach(self, record: SchemaRecord) -> dict[Key, bytes]:
        """The stream comes to the statement of `record`: what was read at a position that it has passed holds from here
        on. Returns tables that were not read there and that statements have made known."""
        future = self.future
        ends = len(future.ends) if future is not None else 0
        reached = future.reach(record) if future is not None else []
        if future is None or len(future.ends) == ends:
            return {}
        for key, later in reached:
            if later.data or key not in self.schema:
                self.schema.define_encoded(key, later.data)
        self.schema.effects()
        if future.ends:
            return {}
        self.future = None
        names = {key for key, _ in reached}
        return {key: data for key in self.schema.names() if key not in names and (data := self.schema.encoded(key))}


def as_of(
    records: Sequence[SchemaRecord], position: Position, schema: ServerSchema, look: FindUpcomingDdl | None
) -> SchemaState:
    """
    Args:
        records: the first one is a base.
        schema: without tables.
        look: see `FutureDefinitions`.
    """
    future = FutureDefinitions(schema, look, mariadb=schema.mariadb)
    state = SchemaState(schema, future, {}, {})
    replay = _Replay(state, future, records[0].position, position)
    for record in (found for one in records for found in (one, *one.ahead)):
        replay.take(record)
    if not future.ends:
        state.future = None
    return state


class _Replay:
    def __init__(self, state: SchemaState, future: FutureDefinitions, base: Position, position: Position) -> None:
        self._state = state
        self._future = future
        self._mariadb = state.schema.mariadb
        self._covers = PositionCoverage(position, mariadb=self._mariadb)
        self._base = PositionCoverage(base, mariadb=self._mariadb)
        self._based = self._covers.covers_position(base)
        self._read: dict[Key, tuple[PositionCoverage, Position]] = {}  # where definitions were read last
        self._changed_since: dict[Key, tuple[int, int]] = {}  # where a statement changed a table last

    def take(self, record: SchemaRecord) -> None:
        effects, _ = unpack(record.data)
        if record.kind in ("base", "read"):
            self._take_definitions(record, effects)
        elif record.kind == "set":
            if self._covers.covers_position(record.position):
                self._take_manual(record, effects)
        elif self._covers.covers_statement(record):
            self._take_statement(record, effects)
        elif not self._based or self._future.ends or not self._base.covers_statement(record):
            self._state.known_effects[identity(record.gtid, record.position, record.digest)] = effects

    def _take_definitions(self, record: SchemaRecord, effects: Effects) -> None:
        schema, start = self._state.schema, PositionCoverage(record.position, mariadb=self._mariadb)
        for database, table, _ in effects.tables:
            self._read[database, table] = (start, record.position)
        if self._covers.covers_position(record.position):
            databases = () if record.kind == "base" else effects.databases
            schema.take(Effects(effects.tables, databases))
            return
        self._future.add(record.position, effects)
        if record.scope is not None:  # what is known of these tables is of a time when nobody followed them
            schema.take(Effects(tuple((database, table, None) for database, table, _ in effects.tables)))

    def _take_manual(self, record: SchemaRecord, effects: Effects) -> None:
        state = self._state
        for database, table, data in effects.tables:
            key = (database, table)
            changed = self._changed_since.get(key, (-1, -1)) > record.position.order[:2]
            if data and not changed and not self._read_since(key, record.position):
                state.schema.define_encoded(key, data)
                state.manual[key] = data
        state.schema.effects()

    def _read_since(self, key: Key, position: Position) -> bool:
        """Whether the server has been asked behind `position`, and a definition had that the stream has reached."""
        read = self._read.get(key)
        if read is None or not self._covers.covers_position(read[1]) or not self._state.schema.encoded(key):
            return False
        return read[0].before(position, mariadb=self._mariadb)

    def _take_statement(self, record: SchemaRecord, effects: Effects) -> None:
        tables = tuple(one for one in effects.tables if self._is_news((one[0], one[1]), record))
        databases = effects.databases if not (self._based and self._base.covers_statement(record)) else ()
        self._state.schema.take(Effects(tables, databases))
        for database, table, data in tables:
            key = (database, table)
            self._state.manual.pop(key, None)
            self._changed_since[key] = record.position.order[:2]
            (self._future.gone.discard if data is not None else self._future.gone.add)(key)

    def _is_news(self, key: Key, record: SchemaRecord) -> bool:
        """Whether the statement is not in what was read of the table, at a position that the stream has reached."""
        read = self._read.get(key)
        if read is None:
            return not (self._based and self._base.covers_statement(record))
        return not (self._covers.covers_position(read[1]) and read[0].covers_statement(record))
