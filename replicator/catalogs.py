"""A task's configuration and its history store -> the schema history of each of its streams."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeAlias

from replicator.config.secrets import resolve
from replicator.config.tables import TableFilter
from replicator.config.task import MySQLSource, TaskConfig
from replicator.model.position import Position
from replicator.model.schema import Reading
from replicator.ports import Catalog, HistoryStore
from replicator.schema.catalog import SchemaCatalog
from replicator.schema.history import History

MakeCatalog: TypeAlias = Callable[..., Catalog]
"""(position, tables in quarantine = ()) -> the catalog of a stream from there on."""


def build_catalog(config: TaskConfig, store: HistoryStore, *, needed: bool = False) -> MakeCatalog:
    """What makes the catalog of a stream that begins at a position. The first one of a task reads the definitions of
    its tables from the source; each call reads `store`.

    Args:
        needed: the format can't do without definitions (see `SchemaCatalog`).
    """
    selection = TableFilter(config.source.tables)
    history = History(store, mariadb=config.source.type == "mariadb", read=_reader(config))

    def make(position: Position, left_out: Collection[str] = config.source.quarantine) -> Catalog:
        return SchemaCatalog(history, position, selection, needed=needed, left_out=left_out)

    return make


def _reader(config: TaskConfig) -> Callable[[], Reading] | None:
    source = config.source
    if not isinstance(source, MySQLSource):
        return None

    def read() -> Reading:
        from replicator.source.mysql.definitions import read

        return read(source, resolve(source.password))

    return read
