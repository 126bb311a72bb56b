"""Snapshots of `replicator run`: `--snapshot-only`, `--snapshot`, and tables that a changed file adds."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

import msgspec

from replicator.assembly.snapshots import open_snapshot_source
from replicator.checkpoint.sqlite import Chosen, SqliteStore
from replicator.config.load import parse_task, to_data
from replicator.config.table_choice import added, choice_of
from replicator.config.task import TaskConfig
from replicator.coordination.clock import now_ms
from replicator.errors import ConfigError, ProcessError, SourceError
from replicator.model.added_tables import add, withdraw
from replicator.model.checkpoint import Checkpoint
from replicator.model.quarantine import TaskOrders, left_out
from replicator.model.snapshot_orders import SnapshotOrders, is_open, start, waiting
from replicator.telemetry import log


def with_snapshot(config: TaskConfig) -> TaskConfig:
    """Raises ConfigError: the task begins in the past."""
    if config.source.snapshots.mode != "never":
        return config
    data = to_data(config)
    given = data["source"].get("snapshot")
    chosen = {**given, "mode": "initial"} if isinstance(given, dict) else "initial"
    return parse_task({**data, "source": {**data["source"], "snapshot": chosen}})


def check_new(known: Checkpoint | None, orders: SnapshotOrders) -> None:
    """Raises ProcessError E5007: there is nothing to export. The task has a position without a snapshot in it, or with
    one that is complete, and no other one waits."""
    progress = known.position.snapshot if known is not None else None
    if known is None or is_open(progress) or waiting(orders, progress):
        return
    what = "an earlier run of this task started without a snapshot"
    if progress is not None:
        what = f"snapshot {progress.id} of this task is complete, and no other one waits"
    raise ProcessError(
        "E5007",
        f"--snapshot-only: {what}",
        found=f"position {known.position}",
        fix="Give the export a separate state: --state FILE, and with a file sink another file.",
    )


def check_complete(last: Checkpoint | None) -> None:
    """Raises ProcessError E5007: an export has ended, and tables in quarantine are missing in it."""
    progress = last.position.snapshot if last is not None else None
    if progress is not None and is_open(progress):
        left = ", ".join(progress.left)
        raise ProcessError(
            "E5007",
            "--snapshot-only: the export is not complete: tables in quarantine were left out",
            found=left[:300],
            fix="Correct what the error of the table names, and run the export again with --release TABLE.",
        )


def with_added_tables(store: SqliteStore, config: TaskConfig) -> TaskOrders:
    """The orders of a run: with a snapshot of the tables that its file chooses and that of the last run did not. What a
    state file of an earlier version has read is not known; nothing is new then.

    Raises ConfigError E1003: too many such snapshots wait.
    """
    orders, last, known = store.orders(), store.chosen(), store.load()
    choice, source = choice_of(config.source), config.source
    present = snapshots = orders.snapshots
    version = last.version if last is not None else 1
    patterns = added(last.choice, source) if last is not None and known is not None else ()
    if last is not None and choice != last.choice:
        version += 1
    if patterns and last is not None and known is not None:
        snapshots = add(present, known.position.snapshot, patterns, last.choice, version, now_ms(), begun=True)
        log.get_logger("run").info("tables added", snapshot=snapshots.requests[-1].id, tables=list(patterns))
    elif not source.snapshots.of_added:
        snapshots = withdraw(present)
    orders = msgspec.structs.replace(orders, snapshots=snapshots)
    chosen = Chosen(choice, version)
    if chosen != last or snapshots != present:
        store.choose(chosen, orders)
    return orders


def order_snapshot(store: SqliteStore, config: TaskConfig, tables: Sequence[str], where: str | None) -> TaskOrders:
    """The orders with a snapshot of some tables, remembered.

    Raises:
        ConfigError: E1003, a table is not named in full or not replicated, the condition
            is none.
        SourceError: E2205, the source has no such table; SourceUnavailable.
        ProcessError: E5007, a table is in quarantine, or the run begins with a snapshot anyway.
    """
    orders, known = store.orders(), store.load()
    if known is None and config.source.snapshots.mode != "never":
        fix = "Omit --snapshot; source.snapshot says which tables the first run reads."
        raise ProcessError("E5007", "--snapshot: the first run begins with its own snapshot", fix=fix)
    condition = "" if where is None else where or " "  # one that is given must not be empty
    progress = known.position.snapshot if known is not None else None
    snapshots = start(orders.snapshots, progress, tables, condition, 0, now_ms())
    marks = known.quarantined if known is not None else ()
    _check_tables(config, tables, left_out([mark for mark in marks if orders.lasts(mark)]) | frozenset(orders.tables))
    orders = msgspec.structs.replace(orders, snapshots=snapshots)
    store.order(orders)
    return orders


def _check_tables(config: TaskConfig, tables: Sequence[str], absent: frozenset[str]) -> None:
    selection = config.source.selection()
    for table in tables:
        if not selection.chooses(table):
            wanted = f"a table of source.tables: {', '.join(selection.patterns)}"
            raise ConfigError(
                "E1003", f"'{config.name}' does not replicate the table", found=table, wanted=wanted[:300]
            )
        if table in absent:
            raise ProcessError("E5007", f"{table} is in quarantine", fix=f"Give --release {table} as well.")
    with closing(open_snapshot_source(config, {}).open("")) as reader:
        there = {size.table for size in reader.tables()}
    for table in tables:
        if table not in there:
            fix = "Names are case-sensitive; the account sees only tables on which it has a privilege."
            raise SourceError("E2205", "the source has no such table", found=table, wanted="an existing table", fix=fix)
