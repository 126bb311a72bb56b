"""Builds the `View` from a snapshot and the kept history. Pure: the same input gives the same page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

import msgspec

from monitor import machine_views
from monitor.machine_views import GONE
from monitor.reach import Reach, Reaches
from monitor.role_changes import Change, changes, latest
from monitor.snapshot_history import SnapshotHistory
from monitor.snapshot_reader import Snapshot
from monitor.takeovers import COUNTED
from monitor.task_state import OFF, Condition, condition, is_unplaced, wanted_standbys
from monitor.view import AddressView, MachineView, MaintenanceView, MemberView, TaskRow, Tiles, View
from replicator.config import endpoints
from replicator.coordination.addresses.book import AddressNode
from replicator.coordination.overview import InstanceOverview, TaskOverview
from replicator.model.checkpoint import Checkpoint, apply_mode
from replicator.model.quarantine import Quarantined
from replicator.model.snapshot_report import SnapshotReport, report

WITHOUT = frozenset({"NO RUNNING", "WAITING", "IDLE", "STARTING"})
"""States in which somebody should be RUNNING and nobody is."""
CHANGES = 300
"""Of all tasks: a maintenance of all is one of each task, and one line of the page."""


def build(snapshot: Snapshot, history: SnapshotHistory, root: str) -> View:
    """Adds the snapshot to `history` and returns the page."""
    told = {task.name: changes(task.name, task.history) for task in snapshot.tasks}
    history.absorb(snapshot, told, {task.name: task.overview.rows_per_s or 0.0 for task in snapshot.tasks})
    versions = {machine.name: machine.record.version for machine in snapshot.machines if machine.record is not None}
    tasks = [
        _with_past(
            _task(
                task.overview,
                condition(task.overview, snapshot.machines, snapshot.time_ms),
                history.spark(task.name),
                history.reaches,
            ),
            told[task.name],
            history,
            versions,
        )
        for task in snapshot.tasks
    ]
    machines = machine_views.machines(history.machines.machines, snapshot.drained)
    held = snapshot.maintenance
    return View(
        root=root,
        read_ms=snapshot.time_ms,
        read_seconds=snapshot.seconds,
        tiles=tiles(tasks, machines),
        tasks=by_severity(tasks),
        machines=machines,
        maintenance=MaintenanceView(held.by, held.time_ms, held.reason) if held else None,
        servers=tuple(map(machine_views.server, snapshot.servers)),
        monitors=tuple(map(machine_views.monitor, snapshot.monitors)),
        addresses=tuple(map(_address, snapshot.addresses)),
        changes=tuple(map(history.measured, latest(chain.from_iterable(told.values()), CHANGES))),
        takeovers=_counted(history),
        failover_buckets=tuple(history.takeovers.buckets),
        failover_seconds=history.takeovers.sum,
        silences=snapshot.silences,
    )


def _address(node: AddressNode) -> AddressView:
    address = node.record.present.address if node.record is not None else ""
    probe = node.probe
    if probe is None or probe.address != address:
        return AddressView(str(node.name), address)
    return AddressView(str(node.name), address, probe.answers, probe.since_ms)


def by_severity(tasks: Iterable[TaskRow]) -> tuple[TaskRow, ...]:
    """The worst first; tasks in equal trouble by name, so that rows keep their place from second to second."""
    return tuple(sorted(tasks, key=lambda task: (-task.trouble, task.name)))


def _task(task: TaskOverview, told: Condition, spark: tuple[float, ...], reaches: Reaches) -> TaskRow:
    first, figures, commit = task.running, task.figures, task.last_commit
    checkpoint = commit.checkpoint if commit else None
    leads = first is not None and told.state not in OFF
    return TaskRow(
        name=task.name,
        state=told.state,
        tone=told.tone,
        trouble=told.trouble,
        uid=task.uid,
        notes=told.notes,
        lasting=told.lasting,
        desired=task.desired,
        desired_by=task.desired_by,
        desired_ms=task.desired_ms,
        desired_reason=task.desired_reason,
        actual=task.state,
        labels=task.labels,
        source=endpoints.source(task.config),
        destination=endpoints.destination(task.config),
        registry=endpoints.registry(task.config),
        host=task.host,
        leads=leads,
        pid=first.pid if first else 0,
        since_ms=(figures.since_ms if figures else 0) or (first.since_ms if first else 0),
        members=tuple(_member(member, reaches.of(task.name, member.guid)) for member in task.instances),
        maintenance=task.maintenance,
        group=task.group,
        unplaced=is_unplaced(task),
        wanted_standbys=wanted_standbys(task),
        standbys=_standbys(task),
        running=told.running,
        position=task.position,
        gtid=task.gtid,
        lag_s=task.lag_s if leads else None,
        lag_at_most=task.lag_at_most,
        lag_note=task.lag_note,
        clock_skew_s=task.clock_skew_s,
        behind_bytes=task.behind_bytes if leads else None,
        behind_transactions=task.behind_transactions if leads else None,
        figures_age_s=task.figures_age_s,
        figures_old=task.figures_old,
        retrying=task.retrying,
        retention_headroom_s=task.retention_headroom_s,
        source_shared=task.source_shared,
        certificate_ms=figures.certificate_ms if figures else 0,
        certificate=figures.certificate if figures else "",
        inflight_limit_bytes=_inflight_limit(task.config),
        late_consumers=tuple(figures.late_consumers.values()) if figures else (),
        rows_per_s=task.rows_per_s or 0.0,
        bytes_per_s=figures.bytes_per_s if figures and not task.figures_old else 0.0,
        rows=checkpoint.rows if checkpoint else 0,
        transactions=checkpoint.transactions if checkpoint else 0,
        dead_letters=checkpoint.dead_letters if checkpoint else 0,
        conflicts=checkpoint.conflicts if checkpoint else 0,
        conflict_counts=checkpoint.conflict_counts if checkpoint else (),
        apply_mode=apply_mode(checkpoint, endpoints.sink_type(task.config)),
        skipped=checkpoint.skipped if checkpoint else 0,
        quarantined=tuple(_shown(mark) for mark in checkpoint.quarantined if not mark.until) if checkpoint else (),
        snapshot=_snapshot(checkpoint, paused=task.orders.snapshots.paused),
        verification=task.verification,
        spark=spark,
        last_event_ms=figures.last_event_ms if figures else 0,
        checkpoint_ms=checkpoint.time_ms if checkpoint else 0,
        epoch=max(task.epoch if leads else 0, commit.epoch if commit else 0),
        lease_left_s=figures.lease_left_s if figures else 0.0,
        config_version=task.config_version,
        activity=figures.activity if figures and not task.figures_old else None,
        config_invalid=told.config_invalid,
        addresses=tuple(task.addresses),
        errors=told.errors,
    )


def _inflight_limit(config: dict[str, Any] | None) -> int | None:
    """What a Server stores has every default."""
    sink = (config or {}).get("sink")
    limit = sink.get("max_in_flight_bytes") if isinstance(sink, dict) and sink.get("type") == "kafka" else None
    return limit if isinstance(limit, int) else None


def _with_past(task: TaskRow, told: Iterable[Change], history: SnapshotHistory, versions: Mapping[str, str]) -> TaskRow:
    """What neither its znodes nor its figures have. `told`: oldest first; `versions`: of Cores, by host."""
    last = next((change for change in reversed(list(told)) if change.kind in COUNTED), None)
    return msgspec.structs.replace(
        task,
        version=versions.get(task.host, ""),
        without_since_ms=history.takeovers.last_report(task.name) if task.state in WITHOUT else 0,
        takeover_ms=last.time_ms if last is not None else 0,
        takeover=last.kind if last is not None else "",
    )


def _snapshot(checkpoint: Checkpoint | None, *, paused: bool) -> SnapshotReport | None:
    progress = checkpoint.position.snapshot if checkpoint else None
    return report(progress, checkpoint.time_ms, paused=paused) if checkpoint and progress else None


def _member(member: InstanceOverview, reach: dict[str, Reach]) -> MemberView:
    return MemberView(
        member.host,
        member.pid,
        member.state.upper(),
        member.sequence,
        member.since_ms,
        tuple(side for side, one in reach.items() if not one.reached),
        reach,
        member.machine,
        member.guid,
    )


def _standbys(task: TaskOverview) -> tuple[str, ...]:
    """Who could take over. A Core on which the task has FAILED could not."""
    return tuple(instance.host for instance in task.standbys if instance.state.upper() != "FAILED")


def tiles(tasks: Iterable[TaskRow], machines: Iterable[MachineView]) -> Tiles:
    tasks, machines = list(tasks), list(machines)
    states = [task.state for task in tasks]
    lags = [(task.lag_s, task.name) for task in tasks if task.lag_s is not None]
    worst = max(lags, default=None)
    offline = sum(machine.state == "offline" for machine in machines)
    return Tiles(
        tasks=len(tasks),
        running=states.count("RUNNING"),
        without_running=sum(state in WITHOUT for state in states),
        failed=states.count("FAILED") + states.count("UNREADABLE"),
        paused=states.count("PAUSED"),
        online=sum(machine.state not in GONE for machine in machines),
        offline=offline,
        worst_lag_s=worst[0] if worst else None,
        worst_lag_task=worst[1] if worst else "",
        lag_unknown=sum(task.lag_s is None for task in tasks if task.state == "RUNNING"),
        retrying=sum(task.retrying is not None for task in tasks),
        rows_per_s=sum(task.rows_per_s or 0.0 for task in tasks),
    )


def _counted(history: SnapshotHistory) -> dict[str, dict[str, int]]:
    counted: dict[str, dict[str, int]] = {}
    for (task, kind), count in history.takeovers.counts.items():
        counted.setdefault(task, {})[kind] = count
    return counted


def _shown(mark: Quarantined) -> str:
    why = f" ({mark.error.get('code', '')} {mark.error.get('what', '')})" if mark.error else ""
    return f"{mark.table} since {mark.since}{why}"
