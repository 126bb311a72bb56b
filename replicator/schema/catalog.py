"""The catalog of one stream: answers table lookups and takes in DDL statements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from replicator.errors import DecodeError, SessionRenewed
from replicator.model.metadata_event import Statement
from replicator.model.position import Position
from replicator.model.schema_history import BinlogStatement, SchemaRecord
from replicator.model.table import Table
from replicator.schema import parser, table_map_merge
from replicator.schema.affected_tables import databases, tables_of_unparsed
from replicator.schema.ddl_ast import Database, Operation, Parsed
from replicator.schema.ddl_effects import Change, Effects, Key
from replicator.schema.definitions import TableDefinition, decode
from replicator.schema.history import History
from replicator.schema.position_coverage import identity
from replicator.schema.record_codec import digest, pack
from replicator.schema.selection import Selection
from replicator.schema.token_cursor import Name
from replicator.schema.tokens import NotUnderstood

_SHOWN = 300
_OF_TABLES = ("TABLE", "INDEX", "DATABASE")


class SchemaCatalog:
    """Implements `ports.Catalog` from a position on. One stream, one catalog.

    Args:
        needed: the format can't do without definitions: a statement that can't be understood stops the task also where
            the events have the columns' names.
        left_out: `database.table` of tables whose rows are not decoded at the moment; nothing of them stops the task.

    Attributes:
        counters: "ddl": taken in; "ddl_ignored": of databases without replicated tables; "ddl_not_understood": passed.
    """

    def __init__(
        self,
        history: History,
        position: Position,
        selection: Selection,
        *,
        needed: bool = False,
        left_out: Collection[str] = (),
    ) -> None:
        self.counters: Counter[str] = Counter()
        self._history = history
        self._selection = selection
        self._needed = needed
        self._left_out = frozenset(left_out)
        self._mariadb = history.mariadb
        self._state = history.state(position)
        self._last = position.order[:2]
        self._at_last: set[str] = set()  # statements taken in of the transaction there

    def describe(self, table: Table, *, named: bool) -> Table:
        """See `ports.Catalog`."""
        key = self._state.schema.key((table.database, table.name))
        if named:
            definition = self._definition(key)
            return table if definition is None else table_map_merge.add_declarations(table, definition)
        self._needed = True
        future = self._state.future
        definition = self._state.schema.get(key)
        if definition is None and future is not None and future.definition(key):
            separates = future.first_conflict(key)
            if separates is not None:
                raise _changed_since(table, separates)
            definition = decode(future.definition(key))
        if definition is None:
            raise _no_column_names(table, "a table that is not in the schema history")
        found = table_map_merge.add_column_names(table, definition)
        if isinstance(found, str):
            raise _no_column_names(table, found)
        return found

    def _definition(self, key: Key) -> TableDefinition | None:
        """For what the events do not need: as it is now, else as it is later."""
        future = self._state.future
        found = self._state.schema.get(key)
        if found is None and future is not None and future.definition(key):
            return decode(future.definition(key))
        return found

    def statement(self, database: str, text: str, position: Position, gtid: str) -> Statement:
        """See `ports.Catalog`."""
        try:
            parsed = self._parsed(text)
        except NotUnderstood as error:
            return self._not_understood(database, text, position, gtid, str(error))
        operation = parsed.operation
        if operation is None:
            return Statement(database, text, parsed.kind)
        schema = self._state.schema
        if not any(self._selection.touches(schema.stored(name or database)) for name in databases(operation)):
            self.counters["ddl_ignored"] += 1
            return Statement(database, text, parsed.kind)
        if self._seen_before(text, position):
            return Statement(database, text, parsed.kind)
        self._renew()
        self.counters["ddl"] += 1
        self._reach(text, position, gtid)
        changes = self._apply(operation, database)
        self._remember(text, position, gtid)
        schema = self._state.schema
        charset = schema.default(operation.name or database).charset if isinstance(operation, Database) else None
        table_changes = tuple(schema.table_change(change) for change in changes)
        return Statement(database, text, parsed.kind, table_changes, charset)

    def _seen_before(self, text: str, position: Position) -> bool:
        """Whether the statement was taken in before: a part of the stream is read again for an XA transaction in it."""
        at, name = position.order[:2], digest(text)
        if at > self._last:
            self._last, self._at_last = at, set()
        if at < self._last or name in self._at_last:
            return True
        self._at_last.add(name)
        return False

    def _renew(self) -> None:
        if self._history.full:
            raise SessionRenewed("E2217", "the schema history is made smaller")

    def _parsed(self, text: str) -> Parsed:
        try:
            return parser.parse(text, mariadb=self._mariadb)
        except NotUnderstood:
            from replicator.schema import sqlglot_fallback

            return sqlglot_fallback.parse_with_sqlglot(text, mariadb=self._mariadb)

    def _reach(self, text: str, position: Position, gtid: str) -> None:
        """The stream comes to where definitions were read: from here on they hold, whatever came before."""
        state = self._state
        if state.future is None:
            return
        record = SchemaRecord("ddl", position, gtid, digest(text))
        end = state.future.end
        followed = state.reach(record)
        if followed:
            effects = Effects(tuple((*key, data) for key, data in followed.items()))
            self._history.append(SchemaRecord("read", end, data=pack(effects, folded=state.schema.folded)))
        if state.future is not None:
            state.future.mark_passed(identity(gtid, position, record.digest))

    def _apply(self, operation: Operation, database: str) -> list[Change]:
        future = self._state.future
        return (future or self._state.schema).apply(operation, database)

    def _remember(self, text: str, position: Position, gtid: str) -> None:
        """Durable before anything behind the statement can be."""
        state = self._state
        effects = state.schema.effects()
        for key in ((database, table) for database, table, _ in effects.tables):
            state.manual.pop(key, None)
        name = identity(gtid, position, digest(text))
        if effects != state.known_effects.pop(name, Effects()):
            packed = pack(effects, folded=state.schema.folded)
            self._history.append(SchemaRecord("ddl", position, gtid, name[1], text[:_SHOWN], packed))

    # What can't be understood

    def _not_understood(self, database: str, text: str, position: Position, gtid: str, why: str) -> Statement:
        """Tables that are replicated and named in it are not known any more, unless somebody has told us of them."""
        kind = parser.kind(text)
        if self._seen_before(text, position):
            return Statement(database, text, kind)
        self._renew()
        self._reach(text, position, gtid)
        tables = self._state.all_keys()
        names = [
            name
            for name in tables_of_unparsed(text, database, tables, mariadb=self._mariadb)
            if self._selection.matches(*self._state.schema.key(name))
        ]
        self.counters["ddl_not_understood"] += 1
        if not names or not kind.endswith(_OF_TABLES):
            return Statement(database, text, kind)
        known = self._state.known_effects.get(identity(gtid, position, digest(text)))
        manual = self._state.manual
        schema = self._state.schema
        left_out = all(".".join(schema.key(name)) in self._left_out for name in names)
        if all(schema.key(name) in manual for name in names):
            known = None  # it passed while the table was left out, and somebody has told us since
            for name in names:
                schema.define_encoded(schema.key(name), manual[schema.key(name)])
        elif known is not None:
            schema.take(known)
        elif self._needed and not left_out and self._state.future is None:
            raise _not_understood_error(names, text, why, position)
        else:
            for name in names:
                schema.define(schema.key(name), None)
        if known is None:
            self._remember(text, position, gtid)
        verb = kind.partition(" ")[0]
        if verb not in ("CREATE", "ALTER", "DROP", "RENAME", "TRUNCATE"):
            verb = "ALTER"
        changes = tuple(schema.table_change(schema.change(verb, schema.key(name))) for name in names)  # type: ignore[arg-type]
        return Statement(database, text, kind, changes)


def _no_column_names(table: Table, found: str) -> DecodeError:
    return DecodeError(
        "E2306",
        f"the table map of {table.qualified} has no column names",
        found=f"binlog_row_metadata = MINIMAL, and {found}",
        wanted="a definition in the schema history that matches the event",
        fix="`replicator task schema NAME --set-table FILE` with the CREATE TABLE statement at the time of these "
        "rows; or set "
        "binlog_row_metadata = FULL and create a new task that starts after them.",
    )


def _changed_since(table: Table, separates: BinlogStatement) -> DecodeError:
    where = f"{separates.position}: {' '.join(separates.text.split())[:_SHOWN]}"
    return DecodeError(
        "E2306",
        f"the table map of {table.qualified} has no column names, and only a later definition of the table is known",
        found=f"binlog_row_metadata = MINIMAL, and at {where}",
        wanted="a definition of the table as it was before that statement",
        fix="`replicator task schema NAME --set-table FILE` with the CREATE TABLE statement at the time of these "
        "rows, then `replicator "
        "task retry NAME`; or create a new task that starts after the statement.",
    )


def _not_understood_error(names: list[Name], text: str, why: str, position: Position) -> DecodeError:
    tables = ", ".join(f"{database}.{table}" for database, table in names)
    return DecodeError(
        "E2309",
        f"a DDL statement on {tables} can't be applied to the schema history ({why})",
        found=text[:_SHOWN],
        wanted="supported DDL",
        fix="`replicator task schema NAME --set-table FILE` with the CREATE TABLE statement as of the end of the "
        "statement, then "
        "`replicator task retry NAME`.",
        position=str(position),
        table=tables if len(names) == 1 else "",
    )
