"""Builds the schema catalogs of a task, one for each of its streams, and reads the definitions for its snapshots."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TypeAlias

from replicator.config.secrets import resolve
from replicator.config.tables import TableFilter
from replicator.config.task import MySQLSource, TaskConfig
from replicator.model.position import Position
from replicator.model.schema_history import BinlogStatement, ServerDefinitions
from replicator.model.snapshot_steps import SnapshotDefinitions
from replicator.pipeline.ports import Catalog, HistoryStore
from replicator.schema.catalog import SchemaCatalog
from replicator.schema.history import History
from replicator.schema.snapshot_definitions import snapshot_definitions

MakeCatalog: TypeAlias = Callable[..., Catalog]
"""(position, tables in quarantine = ()) -> the catalog of a stream from there on."""


def build_catalog(
    config: TaskConfig, store: HistoryStore, *, needed: bool = False, stopping: Callable[[], bool] = lambda: False
) -> MakeCatalog:
    """What makes the catalog of a stream that begins at a position. The first one of a task reads the definitions of
    its tables from the source, and each one those of tables that were not carried before; each call reads `store`.

    Args:
        needed: the format can't do without definitions (see `SchemaCatalog`).
        stopping: whether the task shall end, so that nothing is waited for any more.
    """
    selection = TableFilter(config.source.tables)
    live = _DefinitionSource(config, stopping) if isinstance(config.source, MySQLSource) else None
    history = History(
        store, mariadb=config.source.type == "mariadb", live=live, scope=config.source.tables, choose=TableFilter
    )

    def make(position: Position, left_out: Collection[str] = ()) -> Catalog:
        return SchemaCatalog(history, position, selection, needed=needed, left_out=left_out)

    return make


def read_snapshot_definitions(config: TaskConfig, tables: Collection[str]) -> SnapshotDefinitions:
    """What the source has now of `tables` (`database.table`), with one statement a table. A statement that changed one
    since the snapshot began is in its definition, and comes by in the stream, too.

    Raises:
        SourceUnavailable, SourceError: the definitions can't be read.
    """
    names = frozenset(tables)
    reading = _DefinitionSource(config, lambda: False).read()
    return snapshot_definitions(
        reading, lambda database, table: f"{database}.{table}" in names, mariadb=config.source.type == "mariadb"
    )


class _DefinitionSource:
    """Implements `schema.upcoming_ddl.DefinitionSource`. Modules of the source are imported when they are asked."""

    def __init__(self, config: TaskConfig, stopping: Callable[[], bool]) -> None:
        self._config = config
        self._stopping = stopping

    def read(self) -> ServerDefinitions:
        from replicator.source.mysql.definition_reader import read

        return read(self._config.database, resolve(self._config.database.password))

    def statements(self, start: Position, end: Position) -> Iterator[BinlogStatement]:
        from replicator.assembly.lookahead import statements

        return statements(self._config, start, end, self._stopping)
