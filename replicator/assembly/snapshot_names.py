"""Names in the configuration of a snapshot that no table of the source has: mistyped, or of tables to come."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from replicator.config.snapshot import Snapshot
from replicator.config.tables import TableFilter
from replicator.model.finding import Finding, listed

_FIX: Final = "Correct `source.snapshot`. Tables that are created later are not meant: all of their rows are changes."


def unmatched(options: Snapshot, tables: Iterable[str]) -> tuple[str, ...]:
    """As `shop.itme (tables)`, `shop.itme (where)`. `tables`: that the task replicates and the source has."""
    tables = list(tables)
    chosen = TableFilter(options.tables)
    known = {table for table in tables if chosen.chooses(table)}
    patterns = [pattern for pattern in options.tables if not (pattern.startswith("!") or pattern == "*.*")]
    strange = [f"{one} (tables)" for one in patterns if not any(map(TableFilter((one,)).chooses, tables))]
    return (*strange, *(f"{table} (where)" for table in options.where if table not in known))


def of_names(options: Snapshot, tables: Iterable[str]) -> list[Finding]:
    """What `replicator check` and `apply` say of them."""
    found = unmatched(options, tables)
    if not found:
        return []
    what = f"the snapshot names tables that the task does not replicate or the source does not have: {listed(found)}"
    return [Finding("source.snapshot_names", "warn", what, "names of existing tables", _FIX)]
