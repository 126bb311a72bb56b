"""Definitions of tables as a server prints them, for the records at the beginning of a snapshot."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from replicator.model.schema_history import ServerDefinitions, TableText
from replicator.model.snapshot_steps import DatabaseDefaults, SnapshotDefinitions
from replicator.model.table import Table
from replicator.schema.server_definitions import schema_from_server


def snapshot_definitions(
    reading: ServerDefinitions, chosen: Callable[[str, str], bool], *, mariadb: bool
) -> SnapshotDefinitions:
    """
    Args:
        reading: tables without a text, which the account may not see or which have just gone, are left out.
        chosen: (database, table) -> whether the snapshot has it.
    """
    wanted = [table for table in reading.tables if table.text is not None and chosen(table.database, table.name)]
    tables = tuple(sorted(wanted, key=lambda table: (table.database, table.name)))
    schema = schema_from_server(msgspec.structs.replace(reading, tables=tables), mariadb=mariadb)

    def table(text: TableText) -> Table | None:
        found = schema.table(schema.key((text.database, text.name)))
        return None if found is None else msgspec.structs.replace(found, database=text.database, name=text.name)

    names = sorted({table.database for table in tables})
    server, *databases = (DatabaseDefaults(name, *reading.databases[name]) for name in ("", *names))
    return SnapshotDefinitions(server, tuple(databases), tables, table)
