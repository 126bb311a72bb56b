"""The error for a conflict in a table whose policy is stop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from replicator.errors import ReplicatorError, SinkError
from replicator.model.batch import Record
from replicator.model.target_table import TargetTable
from replicator.sink.mysql import shards
from replicator.sink.mysql.conflicts.lookup import Lookup
from replicator.sink.mysql.conflicts.resolve import Conflict
from replicator.sink.mysql.image_values import values

_KINDS: Final = {
    "missing": "a row that the source has changed or deleted is not there",
    "exists": "a row of the source is there already",
    "different": "a row differs from what it was at the source before a change",
    "unique": "another row has a unique value of a row of the source",
}


def stopped(lookup: Lookup, record: Record, conflict: Conflict) -> SinkError:
    """Without values: errors are read by more people than the tables are."""
    table = lookup.table
    found = _KINDS[conflict.kind]
    if conflict.kind == "different":
        found += f": columns {', '.join(_different(lookup, conflict))}"
    error = SinkError(
        "E3451",
        f"a row of {table.qualified} at the target is not what the source says it was",
        found=f"{found}; row {record[4]} of the transaction",
        wanted="the same row on both sides before the change",
        table=table.source or table.qualified,
    )
    error.position = error.transaction = record[3].decode("ascii", "replace")
    return error


def of_merged(error: SinkError, conflict: Conflict, table: TargetTable, others: Sequence[str]) -> ReplicatorError:
    """`error`: of a table with disjoint keys. `others`: tables of the source that have the row's key, too."""
    if conflict.kind == "different" and not others:
        return error
    exists = SinkError("E3424", error.what, found=error.found, table=error.table)
    exists.position = exists.transaction = error.position
    return shards.explained(exists, table, lambda: others)


def _different(lookup: Lookup, conflict: Conflict) -> list[str]:
    if conflict.expected is None or conflict.found is None:
        return []
    one, other = values(conflict.expected, lookup.layout), values(conflict.found, lookup.layout)
    return [column.name for column, a, b in zip(lookup.table.columns, one, other, strict=True) if a != b]
