"""Table definitions read at a position that the stream has not reached yet.

What statements of the stream have made known is in the schema, as always. Of any other table only the later definition
is known. With column names in the events it adds declarations where they fit; without names it is used for rows that no
statement up to its position separates from it, which the binlog in between tells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

import msgspec

from replicator.model.position import Position
from replicator.model.schema_history import BinlogStatement, SchemaRecord
from replicator.schema.ddl_ast import CreateTable, Database, DropDatabase, DropTables, Operation
from replicator.schema.ddl_effects import Change, Effects, Key
from replicator.schema.position_coverage import Identity, PositionCoverage
from replicator.schema.server_schema import ServerSchema
from replicator.schema.upcoming_ddl import UpcomingDdl

FindUpcomingDdl: TypeAlias = Callable[[Position], UpcomingDdl]
"""Statements up to a position that change tables."""
_UNSEEN: Final = BinlogStatement("", "the binlog in between can't be read", Position("", 0))


class FutureDefinition(msgspec.Struct, frozen=True):
    """`data`: the encoded definition as of `position`, b"" where it is not known."""

    position: Position
    data: bytes


class FutureDefinitions:
    """
    Args:
        schema: as of the stream's position: what its statements have made known.
        look: asked once, when it matters first; None: the server can't be read, and rows without names
            get no later definition.
    """

    def __init__(self, schema: ServerSchema, look: FindUpcomingDdl | None, *, mariadb: bool) -> None:
        self.ends: list[Position] = []
        self.definitions: dict[Key, FutureDefinition] = {}
        self.gone: set[Key] = set()
        self._schema = schema
        self._look = look
        self._mariadb = mariadb
        self._made: set[str] = set()  # databases that a statement has made: what is not known there is not there
        self._passed: set[Identity] = set()
        self._upcoming: UpcomingDdl | None = None

    def add(self, position: Position, effects: Effects) -> None:
        """Definitions that were read at `position`."""
        self.ends.append(position)
        for database, table, data in effects.tables:
            if data is not None:
                self.definitions[database, table] = FutureDefinition(position, data)

    @property
    def end(self) -> Position:
        """The last position that definitions were read at."""
        end, *others = self.ends
        for other in others:
            if not PositionCoverage(end, mariadb=self._mariadb).covers_position(other):
                end = other
        return end

    # Definitions

    def definition(self, key: Key) -> bytes:
        """What the table looks like later; empty where that is not known."""
        later = self.definitions.get(key)
        return later.data if later is not None else b""

    def first_conflict(self, key: Key) -> BinlogStatement | None:
        """The statement that keeps the later definition from holding here. Raises what `look` raises."""
        later = self.definitions.get(key)
        if later is None or self._look is None:
            return _UNSEEN
        return self._statements(self._look).first_change(key, later.position)

    def _statements(self, look: FindUpcomingDdl) -> UpcomingDdl:
        if self._upcoming is None:
            self._upcoming = look(self.end)
            for name in self._passed:
                self._upcoming.mark_passed(name)
        return self._upcoming

    # The stream

    def mark_passed(self, name: Identity) -> None:
        """The stream has passed a statement."""
        self._passed.add(name)
        if self._upcoming is not None:
            self._upcoming.mark_passed(name)

    def reach(self, record: SchemaRecord) -> list[tuple[Key, FutureDefinition]]:
        """The stream comes to the statement of `record`. Returns the definitions that hold from here on."""
        reached = [
            end for end in self.ends if not PositionCoverage(end, mariadb=self._mariadb).covers_statement(record)
        ]
        found = [(key, later) for key, later in self.definitions.items() if later.position in reached]
        for key, _ in found:
            del self.definitions[key]
        self.ends = [end for end in self.ends if end not in reached]
        return found

    def apply(self, operation: Operation, database: str) -> list[Change]:
        """As `ServerSchema.apply`. Tables that are unknown here stay unknown, and are shown as they are later."""
        schema = self._schema
        if isinstance(operation, CreateTable):
            key = schema.key(operation.name, database)
            if operation.unless_exists and not self._absent(key) and key not in schema:
                return [self._shown(schema.change("CREATE", key))]
        changes = schema.apply(operation, database)
        if isinstance(operation, CreateTable) and self._may_inherit_another(operation, key):
            schema.define(key, None)
        if isinstance(operation, DropTables):
            self.gone.update(schema.key(name, database) for name in operation.names)
        if isinstance(operation, DropDatabase):
            changes += self._dropped(operation.name.lower() if schema.folded else operation.name, changes)
        if isinstance(operation, Database) and operation.created and not operation.unless_exists:
            name = operation.name or database
            self._made.add(name.lower() if schema.folded else name)
        self.gone.update(change.name for change in changes if change.new_name is not None)
        self.gone.difference_update(change.new_name or change.name for change in changes if change.verb != "DROP")
        return [self._shown(change) for change in changes]

    def _absent(self, key: Key) -> bool:
        return key in self.gone or (key[0] in self._made and key not in self._schema)

    def _may_inherit_another(self, operation: CreateTable, key: Key) -> bool:
        """The default character set of its database is known as it is later, and NO_LOG has no other. Who says what it
        is need not be asked."""
        if not self._mariadb or operation.options.charset or operation.like is not None or key[0] in self._made:
            return False
        return self._look is None or self._statements(self._look).first_default_change(key[0], self.end) is not None

    def _dropped(self, database: str, known: Iterable[Change]) -> list[Change]:
        shown = {change.name for change in known}
        keys = [key for key in self.definitions if key[0] == database and key not in shown]
        self.gone.update(key for key in self.definitions if key[0] == database)
        self._made.add(database)
        return [Change("DROP", key) for key in keys]

    def _shown(self, change: Change) -> Change:
        if change.after or change.verb == "DROP":
            return change
        return msgspec.structs.replace(change, after=self.definition(change.new_name or change.name))
