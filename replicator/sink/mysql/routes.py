"""Finds the table at the target of each topic, and compares its columns once."""

from __future__ import annotations

from functools import cached_property, partial

from replicator.errors import SinkError
from replicator.model.target_table import TargetTable, TargetTables
from replicator.sink.mysql import events, net_layout, shards, target_columns, target_definition
from replicator.sink.mysql.altered_tables import AlteredTables, Seen
from replicator.sink.mysql.connection import Target
from replicator.sink.mysql.net_layout import Joining
from replicator.sink.mysql.row_groups import Route
from replicator.sink.mysql.shards import Owners
from replicator.sink.mysql.sql import sql_table
from replicator.sink.mysql.sql.grants import TriggerGrants
from replicator.sink.mysql.sql.sql_table import SqlTable
from replicator.sink.mysql.table_creation import TableCreation
from replicator.sink.mysql.target_definition import Definition
from replicator.sink.mysql.transcoding import transcoder


class Routes:
    """Of one session: a table that was altered at the target is read again by the next one.

    Attributes:
        altered: notices that.
    """

    def __init__(
        self,
        target: Target,
        tables: TargetTables,
        creation: TableCreation | None = None,
        owners: Owners | None = None,
    ) -> None:
        self._target = target
        self._owners = owners
        self._tables = tables
        self._creation = creation
        self._known: dict[str, tuple[Route, Seen]] = {}
        self._grants = TriggerGrants(target.session)
        self._definitions: dict[tuple[str, str], Definition] = {}
        self._joining: dict[bytes, Joining] = {}
        self.altered = AlteredTables(target.session)

    def knows(self, topic: str) -> bool:
        """Whether `route` asks the server for nothing."""
        return topic in self._known

    def route(self, topic: str) -> Route:
        """
        Raises:
            SinkError: E3421, E3422, E3427, E3442.
            SinkUnavailable.
        """
        known = self._known.get(topic)
        if known is None:
            known = self._known[topic] = self._made(topic)
        route, seen = known
        self.altered.used(seen)
        return route

    def _made(self, topic: str) -> tuple[Route, Seen]:
        target = self._target
        table = self._table(topic)
        source = table.source or table.qualified
        definition = self._definition(table, source)
        placed = target_columns.place(table, definition, mariadb=target.server.mariadb)
        make_map = partial(events.table_map, table.database, table.name, placed.columns)
        present = events.bitmap(len(placed.columns), placed.places)
        form = shards.form(placed.stored, make_map(0) + present) if table.shard is not None else b""
        joining = self._joining.get(form)
        if joining is None:
            shards.check_keys(target.session, table)
            joining = net_layout.read(target.session, placed.stored, lambda: self._cascading)
            self._joining |= {form: joining} if form else {}
        seen = Seen(table.database, table.name, source, tuple(column.name for column in placed.columns))
        route = Route(
            table.qualified,
            source,
            make_map,
            len(placed.columns),
            present,
            joining,
            len(make_map(0)),
            len(events.rows_header("insert", 0, len(placed.columns), present, 0, last=False)),
            placed.stored,
            self._sql(placed.stored, definition, joining),
            None if placed.plan is None else transcoder(placed.plan),
            form,
            self._owners,
        )
        return route, seen

    @cached_property
    def _cascading(self) -> frozenset[str]:
        return net_layout.cascading(self._target.session)

    def _sql(self, stored: TargetTable, definition: Definition, joining: Joining) -> SqlTable | None:
        target = self._target
        if target.mode == "binlog":
            return None
        joined = joining.layout is not None
        return sql_table.read(target.session, target.server, self._grants, stored, definition, joined=joined)

    def _definition(self, table: TargetTable, source: str) -> Definition:
        """Of the table at the target, which is created if it is missing and that is wanted. Tables that are merged into
        it may be many."""
        name = table.database, table.name
        known = self._definitions.get(name)
        if known is None:
            known = self._read(name, source)
            if table.shard is not None:
                self._definitions[name] = known
        return known

    def _read(self, name: tuple[str, str], source: str) -> Definition:
        target = self._target
        try:
            return target_definition.read(target.session, target.server, *name, source)
        except SinkError as error:
            if error.code != "E3421" or self._creation is None:
                raise
        self._creation.create((source,))
        return target_definition.read(target.session, target.server, *name, source)

    def _table(self, topic: str) -> TargetTable:
        try:
            return self._tables.table(topic)
        except KeyError:
            raise SinkError("E3421", "a record has no table at the target", found=topic) from None
