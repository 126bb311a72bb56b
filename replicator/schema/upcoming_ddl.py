"""Finds DDL between the stream's position and the later one at which definitions were read.

A definition that was read later holds for the rows before it only where no statement in between touches its table.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Protocol

import msgspec

from replicator.model.position import Position
from replicator.model.schema_history import BinlogStatement, SchemaRecord, ServerDefinitions
from replicator.schema import parser
from replicator.schema.affected_tables import redefined_tables, tables_of_unparsed
from replicator.schema.ddl_ast import (
    Database,
    DropDatabase,
    Operation,
    Parsed,
)
from replicator.schema.ddl_effects import Key
from replicator.schema.position_coverage import Identity, PositionCoverage, identity
from replicator.schema.record_codec import digest
from replicator.schema.token_cursor import Name
from replicator.schema.tokens import NotUnderstood

_OF_TABLES = ("TABLE", "INDEX", "DATABASE")


class DefinitionSource(Protocol):
    """A source that can be asked for its definitions, and for the statements that led to them."""

    def read(self) -> ServerDefinitions:
        """Raises SourceError, SourceUnavailable."""
        ...

    def statements(self, start: Position, end: Position) -> Iterable[BinlogStatement]:
        """DDL and the like from `start` to `end`. Raises SourceError, SourceUnavailable, DecodeError."""
        ...


class AffectingStatement(msgspec.Struct, frozen=True):
    """A statement and what it changes. `everything`: databases of which it changes every table; `defaults`: databases
    whose default character set it changes."""

    seen: BinlogStatement
    tables: frozenset[Key]
    everything: frozenset[str] = frozenset()
    defaults: frozenset[str] = frozenset()

    @property
    def identity(self) -> Identity:
        return identity(self.seen.gtid, self.seen.position, digest(self.seen.text))

    def changes(self, key: Key) -> bool:
        return key in self.tables or key[0] in self.everything


class StatementScanner:
    """Reads statements for what they change.

    Args:
        known: tables that a statement which can't be understood may name.
        folded: the server stores names in lower case.
    """

    def __init__(self, known: Collection[Key], *, mariadb: bool, folded: bool) -> None:
        self._known = known
        self._mariadb = mariadb
        self._folded = folded

    def scan(self, live: DefinitionSource, start: Position, end: Position) -> Iterator[AffectingStatement]:
        """Of the statements from `start` to `end`. Raises as `DefinitionSource.statements`."""
        return (touch for seen in live.statements(start, end) if (touch := self.affects(seen)) is not None)

    def affects(self, seen: BinlogStatement) -> AffectingStatement | None:
        """None for a statement that changes no definition of a table."""
        try:
            operation = _parsed(seen.text, mariadb=self._mariadb).operation
        except NotUnderstood:
            return self._not_understood(seen)
        tables = (
            frozenset(self._key(name, seen.database) for name in redefined_tables(operation))
            if operation
            else frozenset()
        )
        everything = frozenset(self._all_of(operation))
        defaults = frozenset(self._defaults_of(operation, seen.database))
        return AffectingStatement(seen, tables, everything, defaults) if tables or everything or defaults else None

    def _not_understood(self, seen: BinlogStatement) -> AffectingStatement | None:
        if not parser.kind(seen.text).endswith(_OF_TABLES):
            return None
        names = tables_of_unparsed(seen.text, seen.database, self._known, mariadb=self._mariadb)
        return AffectingStatement(seen, frozenset(self._key(name, seen.database) for name in names))

    def _key(self, name: Name, database: str) -> Key:
        found = (name[0] or database, name[1])
        return (found[0].lower(), found[1].lower()) if self._folded else found

    def _all_of(self, operation: Operation | None) -> Iterator[str]:
        if isinstance(operation, DropDatabase):
            yield operation.name.lower() if self._folded else operation.name

    def _defaults_of(self, operation: Operation | None, database: str) -> Iterator[str]:
        if isinstance(operation, Database) and not operation.created:
            name = operation.name or database
            yield name.lower() if self._folded else name


def _parsed(text: str, *, mariadb: bool) -> Parsed:
    try:
        return parser.parse(text, mariadb=mariadb)
    except NotUnderstood:
        from replicator.schema import sqlglot_fallback

        return sqlglot_fallback.parse_with_sqlglot(text, mariadb=mariadb)


class UpcomingDdl:
    """The statements between two positions."""

    def __init__(self, statements: Iterable[AffectingStatement], *, mariadb: bool) -> None:
        self._statements = {touch.identity: touch for touch in statements}
        self._mariadb = mariadb

    def remaining_from(self, position: Position) -> UpcomingDdl:
        """What is still to come for a stream that begins at `position`."""
        covers = PositionCoverage(position, mariadb=self._mariadb)
        left = (touch for touch in self._statements.values() if not covers.covers_statement(_record(touch.seen)))
        return UpcomingDdl(left, mariadb=self._mariadb)

    def mark_passed(self, name: Identity) -> None:
        self._statements.pop(name, None)

    def first_change(self, key: Key, until: Position) -> BinlogStatement | None:
        """The first statement up to `until` that changes the table."""
        return self._first(until, lambda touch: touch.changes(key))

    def first_default_change(self, database: str, until: Position) -> BinlogStatement | None:
        """The first statement up to `until` that changes the default character set of the database."""
        return self._first(until, lambda touch: database in touch.defaults)

    def _first(self, until: Position, concerned: Callable[[AffectingStatement], bool]) -> BinlogStatement | None:
        found = [touch.seen for touch in self._statements.values() if concerned(touch)]
        covers = PositionCoverage(until, mariadb=self._mariadb) if found else None
        return next((seen for seen in found if covers is not None and covers.covers_statement(_record(seen))), None)


def _record(seen: BinlogStatement) -> SchemaRecord:
    return SchemaRecord("ddl", seen.position, seen.gtid)
