"""All known databases and tables of one server, and the DDL statements that change them."""

from __future__ import annotations

from collections.abc import Iterator

from replicator.model.metadata_event import TableChange, TableKey, Verb
from replicator.model.table import Table
from replicator.schema import apply, charsets, types
from replicator.schema.apply import DefinitionMismatch
from replicator.schema.charsets import Text
from replicator.schema.ddl_ast import (
    AlterTable,
    CreateTable,
    Database,
    DropDatabase,
    DropTables,
    Operation,
    RenameTables,
    RenameTo,
    Truncate,
)
from replicator.schema.ddl_effects import UNKNOWN, Change, Effects, Key
from replicator.schema.definitions import TableDefinition, decode, encode
from replicator.schema.token_cursor import Name


class ServerSchema:
    """Definitions are held encoded (see `definitions.encode`) and decoded when asked for.

    Args:
        folded: the server stores names in lower case (lower_case_table_names).
    """

    def __init__(self, *, mariadb: bool, folded: bool = False) -> None:
        self.mariadb = mariadb
        self.folded = folded
        self.server = charsets.default(mariadb=mariadb)
        self._tables: dict[Key, bytes] = {}
        self._databases: dict[str, Text] = {}
        self._touched: dict[Key, None] = {}
        self._touched_databases: dict[str, None] = {}

    # Lookups

    def key(self, name: Name, database: str = "") -> Key:
        return self.stored(name[0] or database), self.stored(name[1])

    def stored(self, name: str) -> str:
        """The name of a database or table as the server has it, and the events of rows."""
        return name.lower() if self.folded else name

    def get(self, key: Key) -> TableDefinition | None:
        """None for a table that is not there and for one that is not known."""
        data = self._tables.get(key)
        return decode(data) if data else None

    def __contains__(self, key: Key) -> bool:
        """Whether the table is there, known or not."""
        return key in self._tables

    def names(self) -> Iterator[Key]:
        yield from self._tables

    def default(self, database: str) -> Text:
        return self._databases.get(self.stored(database), self.server)

    # Effects

    def take(self, effects: Effects) -> None:
        """Sets what `effects` say. Doing it again changes nothing."""
        for name, text in effects.databases:
            self._set_database(name, text)
        for database, table, data in effects.tables:
            self._set((database, table), data)
        self._touched.clear()
        self._touched_databases.clear()

    def effects(self) -> Effects:
        """What has changed since the last call."""
        touched = tuple((*key, self._tables.get(key)) for key in self._touched)
        databases = tuple((name, self._databases.get(name)) for name in self._touched_databases)
        self._touched.clear()
        self._touched_databases.clear()
        return Effects(touched, databases)

    def snapshot(self) -> Effects:
        """Everything."""
        return Effects(
            tuple((*key, data) for key, data in self._tables.items()),
            (("", self.server), *self._databases.items()),
        )

    def define(self, key: Key, definition: TableDefinition | None) -> None:
        """`definition` None: there, and not known."""
        self._set(key, UNKNOWN if definition is None else encode(definition))

    def define_encoded(self, key: Key, data: bytes) -> None:
        self._set(key, data)

    def define_database(self, name: str, text: Text | None) -> None:
        """Its default; name "" for the server's; None: gone."""
        self._set_database(self.stored(name), text)

    def _set(self, key: Key, data: bytes | None) -> None:
        if self._tables.get(key) == data and (key in self._tables) == (data is not None):
            return
        self._touched[key] = None
        if data is None:
            self._tables.pop(key, None)
        else:
            self._tables[key] = data

    def _set_database(self, name: str, text: Text | None) -> None:
        if name == "" and text is not None:
            self.server = text
        elif self._databases.get(name) != text:
            self._touched_databases[name] = None
            if text is None:
                self._databases.pop(name, None)
            else:
                self._databases[name] = text

    # Statements

    def apply(self, operation: Operation, database: str) -> list[Change]:
        """Changes the definitions. A table whose definition the statement does not fit becomes unknown.

        Args:
            database: the session's default.
        """
        match operation:
            case CreateTable():
                return self._create(operation, database)
            case AlterTable():
                return self._alter(operation, database)
            case DropTables(names):
                return [self._drop(self.key(name, database)) for name in names]
            case RenameTables(pairs):
                return [self._rename(self.key(old, database), self.key(new, database), "RENAME") for old, new in pairs]
            case Truncate(name):
                return [self.change("TRUNCATE", self.key(name, database))]
            case Database():
                self._database(operation, database)
            case DropDatabase(name):
                return self._drop_database(name)
        return []

    def _create(self, statement: CreateTable, database: str) -> list[Change]:
        key = self.key(statement.name, database)
        if statement.unless_exists and key in self._tables:
            return []
        self.define(key, self._created(statement, key, database))
        return [self.change("CREATE", key)]

    def _created(self, statement: CreateTable, key: Key, database: str) -> TableDefinition | None:
        if statement.like is not None:
            return self.get(self.key(statement.like, database))
        if statement.selected:
            return None
        try:
            return apply.created(statement, self.default(key[0]), mariadb=self.mariadb)
        except DefinitionMismatch:
            return None

    def _alter(self, statement: AlterTable, database: str) -> list[Change]:
        key = self.key(statement.name, database)
        before, definition = self.encoded(key), self.get(key)
        target = next((clause.name for clause in statement.clauses if isinstance(clause, RenameTo)), None)
        if definition is not None:
            try:
                changed = apply.altered(definition, statement, self.default(key[0]), mariadb=self.mariadb)
            except DefinitionMismatch:
                self.define(key, None)
            else:
                self.define(key, changed)
        if target is None:
            return [Change("ALTER", key, None, self.encoded(key), before)]
        return [self._rename(key, self.key((target[0] or key[0], target[1])), "ALTER", before)]

    def _drop(self, key: Key) -> Change:
        self._set(key, None)
        return Change("DROP", key)

    def _rename(self, old: Key, new: Key, verb: Verb, before: bytes | None = None) -> Change:
        data = self._tables.get(old, UNKNOWN)
        self._set(old, None)
        self._set(new, data)
        return Change(verb, old, new, data, data if before is None else before)

    def change(self, verb: Verb, key: Key) -> Change:
        """With the table as it is now."""
        return Change(verb, key, None, self.encoded(key))

    def encoded(self, key: Key) -> bytes:
        """Empty for a table that is not there or not known."""
        return self._tables.get(key, UNKNOWN)

    def _database(self, statement: Database, database: str) -> None:
        name = statement.name or database
        if statement.created and statement.unless_exists and name in self._databases:
            return
        above = self.server if statement.created else self.default(name)
        self.define_database(name, charsets.resolve(statement.charset, above, mariadb=self.mariadb))

    def _drop_database(self, name: str) -> list[Change]:
        self.define_database(name, None)
        return [self._drop(key) for key in list(self._tables) if key[0] == self.stored(name)]

    def forget(self, name: Name, database: str) -> None:
        """The table is not known any more; one that was not there stays so."""
        key = self.key(name, database)
        if key in self._tables:
            self.define(key, None)

    # As the model's values

    def table_change(self, change: Change) -> TableChange:
        key = change.new_name or change.name
        table = described(decode(change.after), key, mariadb=self.mariadb) if change.after else None
        before = described(decode(change.before), change.name, mariadb=self.mariadb) if change.before else None
        keys = _keys(decode(change.after)) if change.after and change.verb == "RENAME" else ()
        return TableChange(change.verb, *change.name, table, change.new_name, before, keys)

    def table(self, key: Key) -> Table | None:
        definition = self.get(key)
        return None if definition is None else described(definition, key, mariadb=self.mariadb)


def _keys(definition: TableDefinition) -> tuple[TableKey, ...]:
    return tuple(TableKey(index.name, index.columns, index.unique, index.whole) for index in definition.indexes)


def described(definition: TableDefinition, key: Key, *, mariadb: bool) -> Table | None:
    """None for a table with a type that we do not know."""
    columns = tuple(types.column(at, column, mariadb=mariadb) for at, column in enumerate(definition.logged))
    known = tuple(column for column in columns if column is not None)
    if len(known) < len(columns):
        return None
    return Table(
        *key,
        known,
        definition.key,
        mariadb,
        definition.text.charset,
        definition.comment,
        definition.unique_key,
    )
