"""Findings of `replicator check` about how a source takes a snapshot: rate, retention, visibility, plans of chunks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from replicator.errors import SourceError
from replicator.model.finding import Finding
from replicator.model.position import Position
from replicator.model.snapshot import OpenTable
from replicator.pipeline.ports import AccessPath, SnapshotReader, SourceSurvey, TableChanged, TableSize

ROWS_PER_S: Final = 30_000
"""Assumed rate where no table is large enough to measure one."""
_MEASURED: Final = 20_000
"""Rows that are read for it."""
_FEWEST: Final = 1_000
_BRIEF_S: Final = 60.0
_LONG_S: Final = 3600.0
_STOPPED: Final = (
    "binlog that is kept for longer: a task that is stopped during the snapshot for as long starts over (E2206)"
)
_HELD: Final = "binlog that is kept for longer: changes are read behind the snapshot, or it starts over (E2206)"
_DAY: Final = 86_400
_START: Final = Position("", 4)


class Rate(msgspec.Struct, frozen=True):
    """`source`: of the figure, for people."""

    rows_per_s: int
    source: str


def measured(reader: SnapshotReader, sizes: Sequence[TableSize], limit: int | None) -> Rate:
    """Of reading the largest table, or what the configuration allows. Rows that are read are dropped."""
    rate = Rate(ROWS_PER_S, "assumed")
    largest = max(sizes, key=lambda size: size.rows)
    table = reader.begin(largest.table) if largest.rows >= _FEWEST else None
    if table is not None and table.key:
        try:
            chunk = reader.read(table, min(_MEASURED, limit or _MEASURED), _START)
        except TableChanged:
            return rate
        if chunk.seconds > 0 and len(chunk.images) >= min(_FEWEST, limit or _FEWEST):
            rate = Rate(max(1, round(len(chunk.images) / chunk.seconds)), f"measured: reading {table.table}")
    if limit is not None and limit < rate.rows_per_s:
        return Rate(limit, "source.snapshot.max_rows_per_s")
    return rate


def of_source(survey: SourceSurvey, seconds: float, *, consistent: bool = False) -> list[Finding]:
    """`seconds`: that the snapshot takes. `consistent`: it reads from one view."""
    retention = _retention(survey, seconds, _HELD if consistent else _STOPPED)
    if not consistent:
        return [retention, _visibility(survey)]
    return [retention, _view(seconds), *([] if survey.numbered else [_unnumbered()])]


def of_views(error: SourceError | None) -> Finding:
    """`error`: why a consistent view is refused."""
    if error is not None:
        return Finding.of_error("source.snapshot_consistent", error)
    found = "RELOAD, and storage engines with consistent views: all rows are of one moment"
    return Finding.ok("source.snapshot_consistent", found)


def _view(seconds: float) -> Finding:
    """Nothing says how much a server keeps for a view: it depends on what is written meanwhile."""
    found = (
        f"a view of all tables is open for about {duration(seconds)}: the server keeps the former versions of rows "
        "that change meanwhile (undo log), and changes are delivered only then"
    )
    if seconds < _LONG_S:
        return Finding.ok("source.snapshot_view", found)
    fix = "Free space for the undo log; a replica as source; more `connections`; or `consistent: false`."
    return Finding("source.snapshot_view", "warn", found, f"less than {duration(_LONG_S)}", fix)


def _unnumbered() -> Finding:
    found = "the account may not see the numbers of tables: ALTER TABLE ... EXCHANGE PARTITION would not be noticed"
    fix = "GRANT PROCESS ON *.* to the account, or exchange no partitions while the snapshot runs."
    return Finding("source.snapshot_exchange", "warn", found, "PROCESS", fix)


def _retention(survey: SourceSurvey, seconds: float, wanted: str) -> Finding:
    name, took = "source.snapshot_retention", f"the snapshot takes about {duration(seconds)}"
    if survey.retention_bytes and seconds > _BRIEF_S:
        found = f"binlog is purged above {survey.retention_bytes / 1e9:,.1f} GB, whatever its age; {took}"
        return Finding(name, "warn", found, wanted, "Raise that limit, or snapshot fewer tables at a time.")
    if survey.retention_s is None:
        return Finding.ok(name, "binlog is kept until it is purged manually")
    found = f"binlog is kept for {duration(survey.retention_s)}; {took}"
    if survey.retention_s >= seconds:
        return Finding.ok(name, found)
    days = int(2 * seconds // _DAY) + 1
    value = days if survey.retention_variable == "expire_logs_days" else days * _DAY
    fix = f"SET GLOBAL {survey.retention_variable} = {value}"
    return Finding(name, "warn", found, wanted, f"{fix}; or snapshot fewer tables at a time.")


def _visibility(survey: SourceSurvey) -> Finding:
    name = "source.snapshot_visibility"
    if survey.proof:
        return Finding.ok(name, f"each SELECT sees what the stream has passed, as {survey.proof} proves")
    found = f"no proof that a SELECT sees what the stream has passed; a chunk waits for up to {survey.wait_s:.0f} s"
    fix = "Switch to gtid_mode = ON step by step (see the MySQL manual)."
    return Finding(name, "warn", found, "gtid_mode = ON", fix)


def paths(reader: SnapshotReader, tables: Sequence[OpenTable]) -> dict[str, AccessPath]:
    """How chunks of each table are found."""
    found: dict[str, AccessPath] = {}
    for table in tables:
        try:
            found[table.table] = reader.path(table)
        except TableChanged:  # since it was begun: the snapshot begins it again
            continue
    return found


def of_paths(found: Mapping[str, AccessPath], sizes: Sequence[TableSize], listed: Mapping[AccessPath, str]) -> Finding:
    """`listed`: names of the tables of each path, for people."""
    name, wanted = "source.snapshot_plan", "a range of the index for each chunk"
    space = max((size.size for size in sizes if found.get(size.table) == "sort"), default=0)
    parts = []
    if listed["sort"]:
        size = f"up to {space / 1e6:,.1f} MB of temporary space"
        parts.append(f"each chunk sorts the rows that are left of {listed['sort']}: {size}")
    if listed["scan"]:
        parts.append(f"each chunk reads the index from its beginning in {listed['scan']}")
    if not parts:
        return Finding.ok(name, "each chunk is a range of an index: no sort, no temporary space")
    fix = "Add a key that begins with another type than ENUM or SET, or increase source.snapshot.chunk_rows."
    return Finding(name, "warn", "; ".join(parts), wanted, fix)


def duration(seconds: float) -> str:
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(1, round(seconds))} s"
