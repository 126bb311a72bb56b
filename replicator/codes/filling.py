"""Error codes of snapshots into a target server."""

from __future__ import annotations

from typing import Final

from replicator.codes.entry import Entry, table

CODES: Final[dict[str, Entry]] = {
    **table(
        "sink",
        {
            "E3460": (
                "target tables not empty",
                "The task begins with a snapshot, `sink.existing_rows` is refuse, and tables of the target have rows.",
                "Empty the tables, or set `sink.existing_rows` to replace or keep; then `replicator task retry NAME`.",
            ),
        },
    ),
    **table(
        "source",
        {
            "E3461": (
                "snapshot with cascading foreign keys",
                "A table has foreign keys with CASCADE or SET NULL, and the source does not log the rows that they "
                "change: a snapshot into a database server would miss these changes.",
                "Copy the tables with a dump and set `source.start`; or take the snapshot from MySQL 9.6 or later, or "
                "with foreign keys of NO ACTION.",
            ),
        },
    ),
    **table(
        "sink",
        {
            "E3462": (
                "snapshot of a table without primary key",
                "A snapshot is written to a database server, and a table has no primary key.",
                "Add a primary key, exclude the table in `source.snapshot.tables`, or copy it with a dump.",
            ),
        },
    ),
}
