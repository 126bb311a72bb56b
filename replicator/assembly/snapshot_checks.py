"""Findings of `replicator check` about the snapshot of a task: what it reads, by which keys, and for how long."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Final

from replicator.assembly.snapshots import open_snapshot_source
from replicator.config.tables import TableFilter
from replicator.config.task import TaskConfig
from replicator.errors import ReplicatorError, SourceError
from replicator.model.finding import Finding, Severity
from replicator.model.position import Position
from replicator.model.snapshot import OpenTable
from replicator.model.snapshot_report import percent
from replicator.pipeline.ports import SnapshotReader, SnapshotSource, TableSize
from replicator.pipeline.snapshot.chunk_thread import KEY_FIX, KEY_WANTED

ROWS_PER_S: Final = 30_000
"""Assumed rate of reading and delivering rows, unless `max_rows_per_s` is lower."""
LOOKED_AT: Final = 2_000
"""Tables whose keys are read: each takes some questions to the server."""
_SHOWN: Final = 5


def check(config: TaskConfig, position: Position | None = None, source: SnapshotSource | None = None) -> list[Finding]:
    """Nothing unless `source.snapshot` is `initial`. `position`: of the task; None: it has none yet. `source`: instead
    of the configured one."""
    options = config.source.snapshots
    if options.mode != "initial":
        return []
    if position is not None:
        return [_of_position(config.name, position)]
    try:
        with closing((source or open_snapshot_source(config, options.where)).open("")) as reader:
            chosen = TableFilter(options.tables)
            sizes = [size for size in reader.tables() if chosen.chooses(size.table)]
            if not sizes:
                found = f"no table that the task replicates matches {', '.join(options.tables)}"
                return [Finding("source.snapshot", "warn", found, "at least one", "Correct `source.snapshot.tables`.")]
            return [_sizes(sizes, options.max_rows_per_s), *_tables(reader, config, sizes), *_conditions(config, sizes)]
    except ReplicatorError as error:
        return [Finding.of_error("source.snapshot", error)]


def _of_position(task: str, position: Position) -> Finding:
    progress = position.snapshot
    if progress is None:
        found = "the task has a position, so that it takes no snapshot"
        fix = f"`replicator task snapshot start {task} --table DATABASE.TABLE` delivers the rows of tables that exist."
        return Finding("source.snapshot", "warn", found, "a new task", fix)
    state = "complete" if progress.ended_ms else f"continues at {percent(progress)} %"
    return Finding.ok("source.snapshot", f"{state}, {progress.rows:,} rows delivered")


def _sizes(sizes: Sequence[TableSize], limit: int | None) -> Finding:
    rows, size = sum(one.rows for one in sizes), sum(one.size for one in sizes)
    rate = min(limit or ROWS_PER_S, ROWS_PER_S)
    why = "source.snapshot.max_rows_per_s" if limit == rate else "assumed"
    text = (
        f"{len(sizes)} tables, about {rows:,} rows, {size / 1e6:,.1f} MB by the statistics of the server; "
        f"about {_duration(rows / rate)} at {rate:,} rows/s ({why})"
    )
    return Finding.ok("source.snapshot", text)


def _tables(reader: SnapshotReader, config: TaskConfig, sizes: Sequence[TableSize]) -> list[Finding]:
    keys: list[str] = []
    bare: list[str] = []
    denied: list[SourceError] = []
    for size in sizes[:LOOKED_AT]:
        try:
            table = reader.begin(size.table)
        except SourceError as error:
            if error.transient or error.code != "E2104":
                raise
            denied.append(error)
            continue
        if table is not None:
            (keys if table.key else bare).append(_keyed(table))
    more = f"; the first {LOOKED_AT:,} tables were read" if len(sizes) > LOOKED_AT else ""
    found = [Finding.ok("source.snapshot_keys", f"{_listed(keys)}{more}")] if keys else []
    if bare:
        found.append(_without_key(config.source.snapshots.without_key, bare))
    if denied:
        names = _listed([error.table for error in denied])
        first = denied[0]
        what = f"E2104 SELECT is missing on {names}"
        found.append(Finding("source.snapshot_privileges", "fail", what, first.wanted, first.fix))
    else:
        found.append(Finding.ok("source.snapshot_privileges", "SELECT on every table"))
    return found


def _keyed(table: OpenTable) -> str:
    return f"{table.table} ({', '.join(table.key)})" if table.key else table.table


_BECOMES: Final = {
    "fail": "stops the task (E2221)",
    "skip": "is left out of the snapshot",
    "read": "is read in one pass, which begins again after an interruption",
}


def _without_key(choice: str, tables: list[str]) -> Finding:
    code = "E2221 " if choice == "fail" else ""
    found = f"{code}no usable key in {_listed(tables)}: each {_BECOMES[choice]}"
    severity: Severity = "fail" if choice == "fail" else "warn"
    return Finding("source.snapshot_without_key", severity, found, KEY_WANTED, KEY_FIX)


def _conditions(config: TaskConfig, sizes: Sequence[TableSize]) -> list[Finding]:
    known = {size.table for size in sizes}
    strange = [table for table in config.source.snapshots.where if table not in known]
    if not strange:
        return []
    found = f"conditions for tables that the snapshot does not read: {_listed(strange)}"
    return [
        Finding("source.snapshot_where", "warn", found, "tables of the snapshot", "Correct `source.snapshot.where`.")
    ]


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _duration(seconds: float) -> str:
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(1, round(seconds))} s"
