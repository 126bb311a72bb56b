"""Orders snapshots of a running task: starts, pauses, resumes and stops them."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from replicator.config.load import parse_task
from replicator.coordination.clock import now_ms
from replicator.coordination.overview import TaskOverview
from replicator.errors import ProcessError
from replicator.model import snapshot_orders
from replicator.model.quarantine import left_out
from replicator.model.snapshot import SnapshotProgress
from server.quarantine import check_there
from server.table_definitions import DefinitionOperations
from server.task_operations import TaskOperations

Verb: TypeAlias = Literal["pause", "resume", "stop"]


class SnapshotStart(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """`tables`: as `database.table`, in full. `where`: SQL condition of the rows of each table, "" for all rows.
    `chunk_rows`: maximum number of rows of one SELECT, 0: as configured. `reason`: recorded in the history."""

    tables: list[str]
    where: str | None = None
    chunk_rows: int = 0
    reason: str = ""


def start_snapshot(
    operations: TaskOperations, definitions: DefinitionOperations, name: str, wanted: SnapshotStart, by: str
) -> None:
    """The task delivers the rows that `wanted` names, after the snapshots that were ordered before.

    Raises:
        ConfigError: E1003, a table is not named in full or not replicated, a condition is
            empty, too many requests.
        SourceError: E2205, the task knows no such table.
        ProcessError: E5007, no configuration, no table definitions yet, or a table is in quarantine.
        VersionConflict: E4006.
    """
    view, before = operations.task(name), operations.orders(name)
    where = wanted.where if wanted.where is None else wanted.where or " "  # one that is given must not be empty
    orders = snapshot_orders.start(
        before.orders.snapshots, _progress(view), wanted.tables, where or "", wanted.chunk_rows, now_ms()
    )
    marks = view.checkpoint.quarantined if view.checkpoint else ()
    absent = left_out(marks) | frozenset(before.orders.tables)
    for table in wanted.tables:
        check_there(view, definitions, table)
        if table in absent:
            fix = f"`replicator task quarantine {name} {table} --release`, then start the snapshot."
            raise ProcessError("E5007", f"{table} is in quarantine of '{name}', so that it has no rows", fix=fix)
    request = orders.requests[-1]
    condition = f" where {request.where}" if request.where else ""
    what = f"{request.id}: {', '.join(request.tables)}{condition}"
    operations.order(
        name,
        before,
        msgspec.structs.replace(before.orders, snapshots=orders),
        by,
        what[:1000],
        "snapshot",
        wanted.reason[:200],
    )


def change_snapshot(operations: TaskOperations, name: str, verb: Verb, by: str, reason: str = "") -> None:
    """Raises ProcessError E5007, there is none; VersionConflict E4006."""
    view, before = operations.task(name), operations.orders(name)
    present, progress = before.orders.snapshots, _progress(view)
    if not (snapshot_orders.is_open(progress) or snapshot_orders.waiting(present, progress) or _will_begin(view)):
        fix = f"`replicator task snapshot start {name} --table DATABASE.TABLE` starts one."
        raise ProcessError("E5007", f"'{name}' has no snapshot to {verb}", fix=fix)
    if verb == "stop":
        orders = snapshot_orders.stop(present, progress)
    else:
        orders = snapshot_orders.pause(present, paused=verb == "pause")
    if orders != present:
        changed = msgspec.structs.replace(before.orders, snapshots=orders)
        operations.order(name, before, changed, by, verb, "snapshot", reason)


def _progress(view: TaskOverview) -> SnapshotProgress | None:
    return view.checkpoint.position.snapshot if view.checkpoint else None


def _will_begin(view: TaskOverview) -> bool:
    """It has no position yet, and begins with a snapshot."""
    if view.config is None or view.checkpoint:
        return False
    return parse_task(view.config).source.snapshots.first
