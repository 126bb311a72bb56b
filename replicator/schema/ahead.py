"""Which tables change between the position of a stream and the later one that definitions were read at.

A definition that was read later holds for the rows before it only where no statement in between touches its table.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Protocol

import msgspec

from replicator.model.position import Position
from replicator.model.schema import Reading, SchemaRecord, Seen
from replicator.schema import parser
from replicator.schema.changes import Key
from replicator.schema.codec import digest
from replicator.schema.covering import Covering, Identity, identity
from replicator.schema.cursor import Name
from replicator.schema.drafts import (
    AddIndex,
    AlterTable,
    Clause,
    CreateTable,
    Database,
    DropDatabase,
    DropTables,
    Operation,
    Parsed,
    RenameTables,
    RenameTo,
    SetOptions,
    TableOptions,
)
from replicator.schema.named import named
from replicator.schema.tokens import NotUnderstood

_OF_TABLES = ("TABLE", "INDEX", "DATABASE")


class Live(Protocol):
    """A source that can be asked for its definitions, and for the statements that led to them."""

    def read(self) -> Reading:
        """Raises SourceError, SourceUnavailable."""
        ...

    def statements(self, start: Position, end: Position) -> Iterable[Seen]:
        """DDL and the like from `start` to `end`. Raises SourceError, SourceUnavailable, DecodeError."""
        ...


class Touch(msgspec.Struct, frozen=True):
    """A statement and what it changes. `everything`: databases of which it changes every table; `defaults`: databases
    whose default character set it changes."""

    seen: Seen
    tables: frozenset[Key]
    everything: frozenset[str] = frozenset()
    defaults: frozenset[str] = frozenset()

    @property
    def identity(self) -> Identity:
        return identity(self.seen.gtid, self.seen.position, digest(self.seen.text))

    def changes(self, key: Key) -> bool:
        return key in self.tables or key[0] in self.everything


class Toucher:
    """Reads statements for what they change.

    Args:
        known: tables that a statement which can't be understood may name.
        folded: the server stores names in lower case.
    """

    def __init__(self, known: Collection[Key], *, mariadb: bool, folded: bool) -> None:
        self._known = known
        self._mariadb = mariadb
        self._folded = folded

    def touches(self, live: Live, start: Position, end: Position) -> Iterator[Touch]:
        """Of the statements from `start` to `end`. Raises as `Live.statements`."""
        return (touch for seen in live.statements(start, end) if (touch := self.touch(seen)) is not None)

    def touch(self, seen: Seen) -> Touch | None:
        """None for a statement that changes no definition of a table."""
        try:
            operation = _parsed(seen.text, mariadb=self._mariadb).operation
        except NotUnderstood:
            return self._not_understood(seen)
        tables = frozenset(self._key(name, seen.database) for name in written(operation)) if operation else frozenset()
        everything = frozenset(self._all_of(operation))
        defaults = frozenset(self._defaults_of(operation, seen.database))
        return Touch(seen, tables, everything, defaults) if tables or everything or defaults else None

    def _not_understood(self, seen: Seen) -> Touch | None:
        if not parser.kind(seen.text).endswith(_OF_TABLES):
            return None
        names = hit(seen.text, seen.database, self._known, mariadb=self._mariadb)
        return Touch(seen, frozenset(self._key(name, seen.database) for name in names))

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
        from replicator.schema import second

        return second.reread(text, mariadb=mariadb)


def written(operation: Operation) -> list[Name]:
    """The tables whose definitions it may change. CREATE TABLE IF NOT EXISTS is not among them: where the table has
    rows before, it is there and stays as it is."""
    match operation:
        case CreateTable(name):
            return [] if operation.unless_exists else [name]
        case AlterTable(name, clauses):
            if all(_keeps(clause) for clause in clauses):
                return []
            targets = [
                (clause.name[0] or name[0], clause.name[1]) for clause in clauses if isinstance(clause, RenameTo)
            ]
            return [name, *targets]
        case DropTables(names):
            return list(names)
        case RenameTables(pairs):
            return [name for pair in pairs for name in pair]
    return []


def _keeps(clause: Clause) -> bool:
    """Whether columns, keys and what is said of them stay."""
    if isinstance(clause, AddIndex):
        return clause.index.kind == "INDEX"
    return isinstance(clause, SetOptions) and clause.options == TableOptions()


def hit(text: str, database: str, known: Collection[Key], *, mariadb: bool) -> list[Name]:
    """Tables of a statement that can't be understood; rather too many than too few."""
    from replicator.schema import second

    found = second.tables(text)
    if found is not None:
        return [(name[0] or database, name[1]) for name in found]
    return named(text, database, known, mariadb=mariadb)


class Ahead:
    """The touches between two positions."""

    def __init__(self, touches: Iterable[Touch], *, mariadb: bool) -> None:
        self._touches = {touch.identity: touch for touch in touches}
        self._mariadb = mariadb

    def from_on(self, position: Position) -> Ahead:
        """What is still to come for a stream that begins at `position`."""
        covers = Covering(position, mariadb=self._mariadb)
        left = (touch for touch in self._touches.values() if not covers.statement(_record(touch.seen)))
        return Ahead(left, mariadb=self._mariadb)

    def passed(self, name: Identity) -> None:
        self._touches.pop(name, None)

    def of(self, key: Key, until: Position) -> Seen | None:
        """The first statement up to `until` that changes the table."""
        return self._first(until, lambda touch: touch.changes(key))

    def of_default(self, database: str, until: Position) -> Seen | None:
        """The first statement up to `until` that changes the default character set of the database."""
        return self._first(until, lambda touch: database in touch.defaults)

    def _first(self, until: Position, concerned: Callable[[Touch], bool]) -> Seen | None:
        found = [touch.seen for touch in self._touches.values() if concerned(touch)]
        covers = Covering(until, mariadb=self._mariadb) if found else None
        return next((seen for seen in found if covers is not None and covers.statement(_record(seen))), None)


def _record(seen: Seen) -> SchemaRecord:
    return SchemaRecord("ddl", seen.position, seen.gtid)
