"""Finds the table at the target of each topic, and compares its columns once."""

from __future__ import annotations

from functools import cached_property, partial

from replicator.errors import SinkError
from replicator.model.target_table import TargetTable, TargetTables
from replicator.sink.mysql import events, net_layout, target_columns, target_definition
from replicator.sink.mysql.altered_tables import AlteredTables, Seen
from replicator.sink.mysql.connection import Target
from replicator.sink.mysql.row_groups import Route
from replicator.sink.mysql.table_creation import TableCreation
from replicator.sink.mysql.target_definition import Definition
from replicator.sink.mysql.transcoding import transcoder


class Routes:
    """Of one session: a table that was altered at the target is read again by the next one.

    Attributes:
        altered: notices that.
    """

    def __init__(self, target: Target, tables: TargetTables, creation: TableCreation | None = None) -> None:
        self._target = target
        self._tables = tables
        self._creation = creation
        self._known: dict[str, tuple[Route, Seen]] = {}
        self.altered = AlteredTables(target.session)

    def route(self, topic: str) -> Route:
        """
        Raises:
            SinkError: E3421, E3422.
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
        seen = Seen(table.database, table.name, source, tuple(column.name for column in placed.columns))
        route = Route(
            table.qualified,
            source,
            make_map,
            len(placed.columns),
            present,
            net_layout.read(target.session, placed.stored, lambda: self._cascading),
            len(make_map(0)),
            len(events.rows_header("insert", 0, len(placed.columns), present, 0, last=False)),
            placed.stored,
            None if placed.plan is None else transcoder(placed.plan),
        )
        return route, seen

    @cached_property
    def _cascading(self) -> frozenset[str]:
        return net_layout.cascading(self._target.session)

    def _definition(self, table: TargetTable, source: str) -> Definition:
        """Of the table at the target, which is created if it is missing and that is wanted."""
        target = self._target
        try:
            return target_definition.read(target.session, target.server, table.database, table.name, source)
        except SinkError as error:
            if error.code != "E3421" or self._creation is None:
                raise
        self._creation.create((source,))
        return target_definition.read(target.session, target.server, table.database, table.name, source)

    def _table(self, topic: str) -> TargetTable:
        try:
            return self._tables.table(topic)
        except KeyError:
            raise SinkError("E3421", "a record has no table at the target", found=topic) from None
