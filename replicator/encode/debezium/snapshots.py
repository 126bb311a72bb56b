"""Schema changes at the beginning of a snapshot: the statements that would make its tables."""

from __future__ import annotations

from collections.abc import Iterator

from replicator.encode.debezium.statements import Part, quoted
from replicator.model.metadata_event import TableChange
from replicator.model.schema_history import TableText
from replicator.model.snapshot_steps import SnapshotDefinitions


def parts(definitions: SnapshotDefinitions) -> Iterator[Part]:
    """In Debezium's order: what was there before goes, table by table, then each database comes with its tables."""
    server = definitions.server
    yield Part("", None, f"SET character_set_server={server.charset}, collation_server={server.collation}")
    for table in sorted(definitions.tables, key=lambda table: f"{table.database}.{table.name}"):
        ddl = f"DROP TABLE IF EXISTS {quoted(table.database)}.{quoted(table.name)}"
        yield Part(table.database, table.name, ddl, TableChange("DROP", table.database, table.name))
    for database in definitions.databases:
        name = quoted(database.name)
        yield Part(database.name, None, f"DROP DATABASE IF EXISTS {name}")
        yield Part(
            database.name, None, f"CREATE DATABASE {name} CHARSET {database.charset} COLLATE {database.collation}"
        )
        yield Part(database.name, None, f"USE {name}")
        for table in definitions.tables:
            if table.database == database.name:
                yield _created(table, definitions)


def _created(table: TableText, definitions: SnapshotDefinitions) -> Part:
    change = TableChange("CREATE", table.database, table.name, definitions.table(table))
    return Part(table.database, table.name, table.text or "", change)
