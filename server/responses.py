"""Response types of the API: stable, and separate from the records in ZooKeeper, which may change between versions.

Times in ms since the epoch by the clock of whoever wrote them, lag in seconds, rates per second. Configurations hold
references to secrets only; the secrets themselves never reach the Server.
"""

from __future__ import annotations

from typing import Any

import msgspec

from replicator.config import endpoints
from replicator.coordination.logs.processes import Process as OnlineProcess
from replicator.coordination.overview import InstanceOverview, TaskOverview, TaskState
from replicator.coordination.records import VersionRecord
from replicator.coordination.tasks.history import Entry
from replicator.coordination.tasks.position_changes import PositionChange
from replicator.model.checkpoint import ApplyMode, Checkpoint, apply_mode
from replicator.model.conflicts import ConflictCount
from replicator.model.quarantine import Quarantined, TaskOrders, left_out
from replicator.model.snapshot_orders import SnapshotRequest, waiting
from replicator.model.snapshot_report import SnapshotReport, report

API_VERSION = "v1"


class View(msgspec.Struct, kw_only=True, rename={"api_version": "apiVersion"}):
    api_version: str = API_VERSION


class Instance(msgspec.Struct, kw_only=True):
    """One Core that takes part in the election of a task. `online`: the znode of its machine exists."""

    host: str
    state: str
    running: bool
    online: bool
    sequence: int
    epoch: int
    pid: int
    since_ms: int
    lease_left_s: float = 0.0


class Quarantine(msgspec.Struct, kw_only=True):
    """A table that is (`until` "") or was in quarantine: its rows from position `since` to `until` were not delivered.
    `error`: the error that caused it, null after an operator's command. `since` "": ordered, but not in effect yet.
    `replayed`: the missing rows were delivered before any row after `until`."""

    table: str
    since: str
    since_gtid: str
    until: str
    until_gtid: str
    time_ms: int
    error: dict[str, str] | None = None
    replayed: bool = False


class Task(TaskState, kw_only=True, rename={"api_version": "apiVersion"}):
    """A task with its state. `version`: of the configuration, for If-Match. `dead_letters`: number of records that
    were too large for the sink. `conflicts`: of rows at the target that were not what the source says;
    `conflict_counts`: of these by policy and kind, as far as this version has counted them.
    `by_sql`: rows are written by SQL statements, as the account may not execute BINLOG, or `sink.apply` is sql;
    `apply_mode`: "binlog" (row images) or "sql" at a target that is a database, null for other sinks and before the
    first commit.
    `quarantined`: tables in quarantine, now or earlier. `snapshot`: the present or the last snapshot, null without
    one. These are taken from lastCommit. `snapshot_requests`: ordered snapshots that are not done. `position`,
    `gtid`: of the RUNNING instance, else of lastCommit. `maintenance`: "task" or "cluster" while no standby can be
    promoted. `retention_headroom_s`: seconds until the source may purge binlog that the task still needs.
    `lag_s`: age of the oldest change that the source has and the sink has not acknowledged, 0 without one, null if
    unknown; `lag_at_most`: it is an upper bound; `lag_note`: why it is unknown or a bound. `clock_skew_s`: seconds that
    the source's clock is ahead of the Core's. `behind_bytes`, `behind_transactions`: of the source's log that are not
    delivered (by GTID; of a source that is Kafka, records), null if unknown. `figures_age_s`: seconds since the Core
    wrote these figures; `figures_old`: more than 3, so that lag and rate are unknown. `retrying`: what does not answer,
    since when, with which error and effect, null if nothing. `source_shared`: the source is read over a connection that
    tasks of one Core share (`source.share`), null if that is not known. `problems`: errors, most basic first, also
    those that are retried. `verification`: the last result of `replicator verify`, null without one. `nightly`: how
    far the last nightly verification has come, null without one. `addresses`: of the address book: what is wanted, what
    is in use, and why it is not the same."""

    api_version: str = API_VERSION
    kind: str = "Task"
    version: int
    standbys: list[str]
    instances: list[Instance]
    dead_letters: int = 0
    conflicts: int = 0
    conflict_counts: list[ConflictCount] = msgspec.field(default_factory=list)
    skipped_transactions: int = 0
    by_sql: bool = False
    apply_mode: ApplyMode | None = None
    quarantined: list[Quarantine] = msgspec.field(default_factory=list)
    snapshot: SnapshotReport | None = None
    snapshot_requests: list[SnapshotRequest] = msgspec.field(default_factory=list)


class TaskList(View, kw_only=True):
    kind: str = "TaskList"
    items: list[Task]


class HistoryEvent(msgspec.Struct, kw_only=True):
    """One entry of a task's history. `number` increases with each entry."""

    number: int
    event: str
    time_ms: int
    host: str
    epoch: int
    position: str
    by: str
    reason: str
    seconds: float


class HistoryList(View, kw_only=True):
    kind: str = "History"
    name: str
    items: list[HistoryEvent]


class VersionEntry(msgspec.Struct, kw_only=True):
    """A version of a task's configuration. `change`: "created", "configured", "rollback" (to the version `restores`),
    or "" for one that was there before versions were kept. `current`: it is the present one."""

    number: int
    time_ms: int
    by: str
    change: str
    reason: str
    restores: int | None = None
    current: bool = False


class VersionList(View, kw_only=True):
    kind: str = "VersionList"
    name: str
    items: list[VersionEntry]


class TaskVersion(View, kw_only=True):
    kind: str = "TaskVersion"
    name: str
    number: int
    time_ms: int
    by: str
    config: dict[str, Any]


class VersionDiff(View, kw_only=True, rename={"api_version": "apiVersion", "before": "from", "after": "to"}):
    """`diff`: a unified diff, "" if the versions are equal."""

    kind: str = "VersionDiff"
    name: str
    before: int
    after: int
    diff: str


class Process(msgspec.Struct, kw_only=True):
    """A process that is online. `type`: core, agent, server or monitor; `name`: of its machine; `id`: "" if its znode
    cannot be read; `address`: where it listens, "" for a Core or an agent."""

    id: str
    type: str
    name: str
    pid: int = 0
    address: str = ""


class ProcessList(View, kw_only=True):
    kind: str = "ProcessList"
    items: list[Process]


class ProcessLog(View, kw_only=True):
    """`lines`: the last log lines, oldest first, each ended by a newline."""

    kind: str = "ProcessLog"
    process: Process
    lines: str


class Accepted(View, kw_only=True):
    """A command that the RUNNING instance will execute. `to`: the chosen host, "" for the next in the queue."""

    kind: str = "Command"
    id: str
    task: str
    verb: str
    to: str = ""


class PositionEntry(msgspec.Struct, kw_only=True):
    """An earlier or current position of a task. `file` and `offset`: start of a transaction; `gtid`: the executed GTID
    set before it."""

    time_ms: int
    position: str
    file: str
    offset: int
    gtid: str
    rows: int
    transactions: int


class PositionHistory(View, kw_only=True):
    kind: str = "PositionHistory"
    name: str
    items: list[PositionEntry]


class PositionChanged(View, kw_only=True):
    """Effect of a position change (`done`: it was made). `direction`: "back", "forward" or "unknown"; `repeats`,
    `skips`: as text."""

    kind: str = "PositionChanged"
    task: str
    before: PositionEntry | None
    after: PositionEntry
    direction: str
    repeats: str
    skips: str
    done: bool


class Skipped(View, kw_only=True):
    """Effect of a skip (`done`: it was ordered). `transaction`: GTID or `file:offset`; `begins`: its position; `rows`:
    rows of the transaction that were delivered already; `problem`: the error of the task."""

    kind: str = "Skipped"
    task: str
    transaction: str
    begins: str
    rows: int
    problem: dict[str, str]
    after: PositionEntry
    done: bool


class Maintained(View, kw_only=True):
    """`task`: the name, or "" for all tasks."""

    kind: str = "Maintenance"
    task: str
    on: bool


class EditLock(View, kw_only=True):
    """Who edits a task. `token`: for ?edit_token= of replaceTask; `pid`: process on `host`; `since_ms`: ms since the
    epoch; `lease_s`: seconds for which it is kept without another request."""

    kind: str = "EditLock"
    task: str
    held: bool
    token: int = 0
    by: str = ""
    host: str = ""
    pid: int = 0
    since_ms: int = 0
    lease_s: float = 0.0


class Problem(msgspec.Struct, kw_only=True):
    """One error: what is wrong, what was found, what is required, and how to correct it."""

    code: str
    what: str
    found: str
    wanted: str
    fix: str
    position: str


class Failure(msgspec.Struct, kw_only=True):
    """A problem document (RFC 9457). `error`: the first error, `errors`: all errors. `type` and `title` follow from its
    code, `detail` is its text."""

    type: str
    title: str
    status: int
    detail: str
    error: Problem
    errors: list[Problem]


class Health(View, kw_only=True):
    """`warnings`: of the listener, such as plain HTTP on a network address."""

    kind: str = "Health"
    status: str
    zookeeper: str
    warnings: list[str] = []


class Secret(msgspec.Struct, frozen=True):
    """`source`: env, file, or sealed with the id of its key."""

    field: str
    source: str


class SecretList(View, kw_only=True):
    kind: str = "SecretList"
    name: str
    items: list[Secret]


class Renewed(View, kw_only=True):
    """`fields`: those whose secrets were sealed under another key until now."""

    kind: str = "Renewed"
    name: str
    fields: list[str]


class Cluster(View, kw_only=True):
    """`installation`: id of the installation, part of the names that tasks have at their sinks."""

    kind: str = "Cluster"
    installation: str


def task(view: TaskOverview) -> Task:
    checkpoint = view.checkpoint
    marks = checkpoint.quarantined if checkpoint else ()
    progress, asked = checkpoint.position.snapshot if checkpoint else None, view.orders.snapshots
    return Task(
        **{name: getattr(view, name) for name in TaskState.__struct_fields__},
        version=view.config_version,
        standbys=[instance.host for instance in view.standbys],
        instances=[_instance(instance) for instance in view.instances],
        dead_letters=checkpoint.dead_letters if checkpoint else 0,
        conflicts=checkpoint.conflicts if checkpoint else 0,
        conflict_counts=list(checkpoint.conflict_counts) if checkpoint else [],
        skipped_transactions=checkpoint.skipped if checkpoint else 0,
        by_sql=checkpoint.by_sql if checkpoint else False,
        apply_mode=apply_mode(checkpoint, endpoints.sink_type(view.config)),
        quarantined=[*map(_quarantine, marks), *_ordered(view.orders, left_out(marks))],
        snapshot=report(progress, checkpoint.time_ms, paused=asked.paused) if checkpoint and progress else None,
        snapshot_requests=[msgspec.structs.replace(one, known=()) for one in waiting(asked, progress)],
    )


def _quarantine(mark: Quarantined) -> Quarantine:
    return Quarantine(
        table=mark.table,
        since=str(mark.since),
        since_gtid=mark.since.gtid,
        until=str(mark.until or ""),
        until_gtid=mark.until.gtid if mark.until else "",
        time_ms=mark.time_ms,
        error=mark.error or None,
        replayed=mark.replayed,
    )


def _ordered(orders: TaskOrders, stopped: frozenset[str]) -> list[Quarantine]:
    """Tables that no worker has left out yet."""
    return [
        Quarantine(table=table, since="", since_gtid="", until="", until_gtid="", time_ms=time_ms)
        for table, time_ms in sorted(orders.tables.items())
        if table not in stopped
    ]


def _instance(view: InstanceOverview) -> Instance:
    return Instance(
        host=view.host,
        state=view.state,
        running=view.running,
        online=bool(view.machine),
        sequence=view.sequence,
        epoch=view.epoch,
        pid=view.pid,
        since_ms=view.since_ms,
        lease_left_s=view.figures.lease_left_s if view.figures else 0.0,
    )


def position_entry(checkpoint: Checkpoint) -> PositionEntry:
    position = checkpoint.position
    return PositionEntry(
        time_ms=checkpoint.time_ms,
        position=str(position),
        file=position.file,
        offset=position.offset,
        gtid=position.gtid,
        rows=checkpoint.rows,
        transactions=checkpoint.transactions,
    )


def position_changed(name: str, move: PositionChange, *, done: bool) -> PositionChanged:
    return PositionChanged(
        task=name,
        before=position_entry(move.before) if move.before else None,
        after=position_entry(move.after),
        direction=move.direction,
        repeats=move.repeats,
        skips=move.skips,
        done=done,
    )


def skipped(name: str, move: PositionChange, error: dict[str, str], *, done: bool) -> Skipped:
    before = move.before.position if move.before else None
    return Skipped(
        task=name,
        transaction=error["transaction"],
        begins=str(before.transaction_start) if before else "",
        rows=before.rows if before else 0,
        problem=error,
        after=position_entry(move.after),
        done=done,
    )


def history_event(entry: Entry) -> HistoryEvent:
    record = entry.record
    return HistoryEvent(
        number=entry.number,
        event=record.kind,
        time_ms=record.time_ms,
        host=record.host,
        epoch=record.epoch,
        position=record.position,
        by=record.by,
        reason=record.reason,
        seconds=record.seconds,
    )


def version_entry(record: VersionRecord, present: int) -> VersionEntry:
    return VersionEntry(
        number=record.number,
        time_ms=record.time_ms,
        by=record.by,
        change=record.kind,
        reason=record.reason,
        restores=record.restores,
        current=record.number == present,
    )


def task_version(name: str, record: VersionRecord) -> TaskVersion:
    return TaskVersion(name=name, number=record.number, time_ms=record.time_ms, by=record.by, config=record.config)


def process(one: OnlineProcess) -> Process:
    return Process(id=one.id, type=one.kind, name=one.name, pid=one.pid, address=one.address)
