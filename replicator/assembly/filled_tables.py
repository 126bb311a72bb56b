"""Tables of the target that the first snapshot of a task fills."""

from __future__ import annotations

from contextlib import closing

from replicator.assembly.snapshots import open_snapshot_source
from replicator.config.tables import TableFilter
from replicator.config.task import TaskConfig
from replicator.model.table import Table
from replicator.transform.chain import Chain


def filled_tables(config: TaskConfig) -> list[tuple[str, str]]:
    """(database, table) at the target, as the source has tables now. Raises SourceUnavailable, SourceError."""
    chain, chosen = Chain(config.transforms), TableFilter(config.source.snapshots.tables)
    with closing(open_snapshot_source(config, {}).open("")) as reader:
        sizes = [size for size in reader.tables() if chosen.chooses(size.table)]
    mariadb = config.source.type == "mariadb"
    names = ((size.database, size.table[len(size.database) + 1 :]) for size in sizes)
    return [chain.name(Table(database, name, (), (), mariadb)) for database, name in names]
