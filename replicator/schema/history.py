"""The schema history of a task: loads its records, follows them and compacts them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from replicator.errors import SourceError, SourceUnavailable
from replicator.model.position import Place, Position
from replicator.model.schema_history import SchemaRecord, ServerDefinitions
from replicator.pipeline.ports import HistoryStore
from replicator.schema.ddl_effects import Effects
from replicator.schema.position_coverage import PositionCoverage, in_another_log
from replicator.schema.record_codec import pack, unpack
from replicator.schema.schema_state import SchemaState, as_of
from replicator.schema.selection import Choose
from replicator.schema.server_definitions import affects_reading, keys, new_definitions, schema_from_server
from replicator.schema.server_schema import ServerSchema
from replicator.schema.upcoming_ddl import DefinitionSource, StatementScanner, UpcomingDdl

COMPACT: Final = 500
"""Records that a resume position covers that make it worth to write another base, and that a session may add."""
_READINGS: Final = 5


class History:
    """
    Args:
        live: reads the server's definitions; None: the source can't be asked, and the history begins empty.
        scope: the patterns of the tables that the task carries.
        choose: makes the choice that patterns mean.
    """

    def __init__(
        self,
        store: HistoryStore,
        *,
        mariadb: bool,
        live: DefinitionSource | None = None,
        scope: Sequence[str] = (),
        choose: Choose | None = None,
    ) -> None:
        self.mariadb = mariadb
        self._store = store
        self._live = live
        self._scope = tuple(scope)
        self._choose = choose
        self._appended = 0
        self._upcoming: tuple[Position, Position, UpcomingDdl] | None = None

    @property
    def full(self) -> bool:
        """This session has added so many records that another one should begin, and make a base of them."""
        return self._appended >= COMPACT

    def append(self, record: SchemaRecord) -> None:
        self._store.append(record)
        self._appended += 1

    def state(self, position: Position) -> SchemaState:
        """Definitions as of `position`. The server's are read when there is no history yet, and those of tables that
        it has not followed.

        Raises:
            SourceError: the definitions can't be read.
            ProcessError: E5014.
        """
        self._appended = 0
        records = self._with_base(list(self._store.load()), position)
        state = self._as_of(records, position)
        added = self._scope_record(records, state, position)
        if added is not None:
            self._store.append(added)
            records.append(added)
            state = self._as_of(records, position)
        self._compact(records, state, position)
        return state

    def latest(self) -> ServerSchema | None:
        """As of the last record; None without a history."""
        records = self._store.load()
        if not records:
            return None
        schema = _new(records[0], mariadb=self.mariadb)
        for record in (found for one in records for found in (one, *one.ahead)):
            schema.take(unpack(record.data)[0])
        return schema

    def _with_base(self, records: list[SchemaRecord], position: Position) -> list[SchemaRecord]:
        """With a base at the beginning. A position that was set beyond what the task has followed needs another one if
        a statement in between may have changed a table."""
        has_base = bool(records) and records[0].kind == "base"
        if has_base and not self._missed(position):
            return records
        manual = () if has_base else tuple(record for record in records if record.kind == "set")
        first = msgspec.structs.replace(self._first(position), ahead=manual)
        self._store.append(first)
        return [first]

    def _missed(self, position: Position) -> bool:
        """Whether a position was set, or is that of a sink after a restore, beyond a statement that changes a table, or
        into another log, whose places can't be compared with those of the history, or nobody can tell."""
        if position.unseen is None or self._live is None:
            return False
        if position.unseen == Place(position.file, position.offset, position.gtid, position.server):
            return False
        if in_another_log(position.unseen, position):
            return True
        start = Position(position.unseen.file, position.unseen.offset, position.unseen.gtid)
        scanner = StatementScanner((), mariadb=self.mariadb, folded=False)
        try:
            return any(True for _ in scanner.scan(self._live, start, position))
        except SourceError as error:
            if error.transient:
                raise
            return True  # purged, most likely

    def _first(self, position: Position) -> SchemaRecord:
        if self._live is None:
            return base(ServerSchema(mariadb=self.mariadb), position, scope=self._scope)
        reading = self._reading(self._live)
        return base(schema_from_server(reading, mariadb=self.mariadb), reading.position, scope=self._scope)

    def _reading(self, live: DefinitionSource) -> ServerDefinitions:
        """Definitions that no statement has changed while they were read: they hold at the position before it."""
        for _ in range(_READINGS):
            reading = live.read()
            if reading.end is None:
                return reading
            tables = keys(reading)
            scanner = StatementScanner(tables, mariadb=self.mariadb, folded=reading.folded)
            if not any(affects_reading(touch, tables) for touch in scanner.scan(live, reading.position, reading.end)):
                return reading
        raise SourceUnavailable(
            "E2216",
            "the table definitions of the source changed during each attempt to read them",
            found=f"DDL during each of {_READINGS} attempts",
            wanted="one attempt without DDL",
        )

    def _as_of(self, records: Sequence[SchemaRecord], position: Position) -> SchemaState:
        live, schema = self._live, _new(records[0], mariadb=self.mariadb)

        def look(end: Position) -> UpcomingDdl:
            assert live is not None, "else it is not given"  # noqa: S101
            return self._upcoming_ddl(live, state, position, end)

        state = as_of(records, position, schema, look if live is not None else None)
        return state

    # Tables that have not been followed

    def _scope_record(
        self, records: Sequence[SchemaRecord], state: SchemaState, position: Position
    ) -> SchemaRecord | None:
        """What has to be read of the server because the task carries other tables now. Statements of databases that it
        did not carry have passed unread."""
        scope = next((record.scope for record in reversed(records) if record.scope is not None), self._scope)
        if scope == self._scope or self._live is None or self._choose is None:
            return None
        followed = self._choose(scope)
        reading = self._reading(self._live)
        data = new_definitions(reading, state, followed, mariadb=self.mariadb)
        return SchemaRecord("read", reading.position, data=data, scope=self._scope)

    # Statements ahead of the stream

    def _upcoming_ddl(self, live: DefinitionSource, state: SchemaState, start: Position, end: Position) -> UpcomingDdl:
        """Those between the beginning of the stream and `end`; read once for all sessions of a process."""
        found = self._upcoming
        covers = PositionCoverage(start, mariadb=self.mariadb)
        if found is None or found[1] != end or not covers.covers_position(found[0]):
            scanner = StatementScanner(state.all_keys(), mariadb=self.mariadb, folded=state.schema.folded)
            found = self._upcoming = (start, end, UpcomingDdl(scanner.scan(live, start, end), mariadb=self.mariadb))
        return found[2].remaining_from(start)

    # Compaction

    def _compact(self, records: Sequence[SchemaRecord], state: SchemaState, position: Position) -> None:
        """One record takes the place of all, with what it has to keep of them: a crash leaves the old ones or it."""
        covers = PositionCoverage(position, mariadb=self.mariadb)
        if sum(record.kind != "ddl" or covers.covers_statement(record) for record in records) <= COMPACT:
            return
        behind = [
            record
            for one in records
            for record in (one, *one.ahead)
            if record.kind == "ddl" and not covers.covers_statement(record)
        ]
        manual = [
            SchemaRecord("set", position, data=pack(Effects(((*key, data),)), folded=state.schema.folded))
            for key, data in state.manual.items()
        ]
        ahead = (*self._unreached(state), *(msgspec.structs.replace(one, text="") for one in behind), *manual)
        self._store.append(base(state.schema, position, scope=self._scope, ahead=ahead))

    def _unreached(self, state: SchemaState) -> tuple[SchemaRecord, ...]:
        future = state.future
        if future is None:
            return ()
        found = []
        for end in future.ends:
            tables = tuple((*key, later.data) for key, later in future.definitions.items() if later.position == end)
            data = pack(Effects(tables), folded=state.schema.folded)
            found.append(SchemaRecord("read", end, data=data))
        return tuple(found)


def base(
    schema: ServerSchema, position: Position, *, scope: Sequence[str] = (), ahead: tuple[SchemaRecord, ...] = ()
) -> SchemaRecord:
    data = pack(schema.snapshot(), folded=schema.folded)
    return SchemaRecord("base", position, data=data, scope=tuple(scope), ahead=ahead)


def _new(base: SchemaRecord, *, mariadb: bool) -> ServerSchema:
    """Without tables."""
    effects, folded = unpack(base.data)
    schema = ServerSchema(mariadb=mariadb, folded=folded)
    schema.take(Effects((), effects.databases))
    return schema
