"""Findings of `replicator check` about the snapshot of a task: what it reads, by which keys, and for how long."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Final

from replicator.assembly.snapshot_names import of_names
from replicator.assembly.snapshot_survey import (
    ROWS_PER_S,
    Rate,
    duration,
    measured,
    of_paths,
    of_source,
    of_views,
    paths,
)
from replicator.assembly.snapshots import open_snapshot_source
from replicator.config.tables import TableFilter
from replicator.config.task import TaskConfig
from replicator.errors import ReplicatorError, SourceError
from replicator.model.finding import Finding, Severity, listed
from replicator.model.position import Position
from replicator.model.snapshot import OpenTable
from replicator.model.snapshot_report import percent
from replicator.pipeline.ports import AccessPath, SnapshotReader, SnapshotSource, TableSize
from replicator.pipeline.snapshot.chunk_thread import KEY_FIX, KEY_WANTED

LOOKED_AT: Final = 2_000
"""Tables whose keys are read: each takes some questions to the server."""


def check(config: TaskConfig, position: Position | None = None, source: SnapshotSource | None = None) -> list[Finding]:
    """Nothing if `source.snapshot` is `never`. `position`: of the task; None: it has none yet. `source`: instead
    of the configured one."""
    options = config.source.snapshots
    if not options.first:
        return []
    if position is not None:
        return [_of_position(config.name, position)]
    try:
        with closing((source or open_snapshot_source(config, options.where)).open("")) as reader:
            chosen, found_sizes = TableFilter(options.tables), reader.tables()
            present = [size.table for size in found_sizes]
            sizes = [size for size in found_sizes if chosen.chooses(size.table)]
            if not sizes:
                found = f"no table that the task replicates matches {', '.join(options.tables)}"
                return [Finding("source.snapshot", "warn", found, "at least one", "Correct `source.snapshot.tables`.")]
            findings = [*_tables(reader, config, sizes), *of_names(options, present)]
            if options.consistent:
                findings.append(of_views(reader.views_refused([size.table for size in sizes])))
            if any(finding.severity == "fail" for finding in findings):
                rate = Rate(min(options.max_rows_per_s or ROWS_PER_S, ROWS_PER_S), "assumed")
            else:
                rate = measured(reader, sizes, options.max_rows_per_s)
            seconds = sum(size.rows for size in sizes) / rate.rows_per_s
            return [
                _sizes(sizes, rate),
                *findings,
                *of_source(reader.survey(), seconds, consistent=options.consistent),
            ]
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


def _sizes(sizes: Sequence[TableSize], rate: Rate) -> Finding:
    rows, size = sum(one.rows for one in sizes), sum(one.size for one in sizes)
    text = (
        f"{len(sizes)} tables, about {rows:,} rows, {size / 1e6:,.1f} MB by the statistics of the server; "
        f"about {duration(rows / rate.rows_per_s)} at {rate.rows_per_s:,} rows/s ({rate.source})"
    )
    return Finding.ok("source.snapshot", text)


def _tables(reader: SnapshotReader, config: TaskConfig, sizes: Sequence[TableSize]) -> list[Finding]:
    keyed: list[OpenTable] = []
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
            if table.key:
                keyed.append(table)
            else:
                bare.append(table.table)
    more = f"; the first {LOOKED_AT:,} tables were read" if len(sizes) > LOOKED_AT else ""
    found = [Finding.ok("source.snapshot_keys", f"{listed([_keyed(one) for one in keyed])}{more}")] if keyed else []
    if keyed:
        found.append(_paths(reader, keyed, sizes))
    if bare:
        found.append(_without_key(config.source.snapshots.without_key, bare))
    if denied:
        names = listed([error.table for error in denied])
        first = denied[0]
        what = f"E2104 SELECT is missing on {names}"
        found.append(Finding("source.snapshot_privileges", "fail", what, first.wanted, first.fix))
    else:
        found.append(Finding.ok("source.snapshot_privileges", "SELECT on every table"))
    return found


def _paths(reader: SnapshotReader, tables: Sequence[OpenTable], sizes: Sequence[TableSize]) -> Finding:
    found = paths(reader, tables)
    kinds: tuple[AccessPath, ...] = ("range", "scan", "sort")
    shown = {kind: listed([table for table, path in found.items() if path == kind]) for kind in kinds}
    return of_paths(found, sizes, shown)


def _keyed(table: OpenTable) -> str:
    return f"{table.table} ({', '.join(table.key)})"


_BECOMES: Final = {
    "fail": "stops the task (E2221)",
    "skip": "is left out of the snapshot",
    "read": "is read in one pass, which begins again after an interruption",
}


def _without_key(choice: str, tables: list[str]) -> Finding:
    code = "E2221 " if choice == "fail" else ""
    found = f"{code}no usable key in {listed(tables)}: each {_BECOMES[choice]}"
    severity: Severity = "fail" if choice == "fail" else "warn"
    return Finding("source.snapshot_without_key", severity, found, KEY_WANTED, KEY_FIX)


def check_names(config: TaskConfig, source: SnapshotSource | None = None) -> list[Finding] | None:
    """What of `source.snapshot` no table has; None: the source can't be asked from here."""
    options = config.source.snapshots
    if not options.first or (not options.where and options.tables == ("*.*",)):
        return []
    try:
        with closing((source or open_snapshot_source(config, {})).open("")) as reader:
            return of_names(options, [size.table for size in reader.tables()])
    except ReplicatorError:
        return None
