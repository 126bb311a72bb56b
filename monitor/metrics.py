"""The `View` as Prometheus text. Base units, one prefix.

Counters come from what ZooKeeper holds (rows since the task was made) or from what this Monitor saw since it started
(take-overs); both only rise until a restart, as Prometheus expects.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Protocol

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from monitor.activity_metrics import activities
from monitor.alerts.shown import SenderView
from monitor.machine_metrics import builds, core_events, zookeeper_requests
from monitor.metric_families import counter, gauge, labelled_counter, single
from monitor.takeovers import COUNTED, DURATION_BUCKETS
from monitor.view import TaskRow, View
from monitor.vitals_metrics import machine_metrics
from replicator.model.histogram import Histogram
from replicator.model.verification import RESULTS

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Listener(Protocol):
    """What metrics say of the TLS certificate of a listener."""

    expires_ms: int
    problem: str


def exposition(
    view: View,
    *,
    streams: int,
    labels: Sequence[str] = (),
    listener: Listener | None = None,
    sender: SenderView | None = None,
    requests: Histogram | None = None,
) -> bytes:
    """The text of /metrics. Tasks' figures are left out while they are stale: an old figure that looks new would
    silence the alarm that it should raise. `labels`: keys of tasks' labels that become labels of an info metric.
    `requests`: of this process to ZooKeeper."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(view, streams, labels, listener, requests, sender))
    return generate_latest(registry)


class _Collector(Collector):
    def __init__(
        self,
        view: View,
        streams: int,
        labels: Sequence[str],
        listener: Listener | None,
        requests: Histogram | None,
        sender: SenderView | None,
    ) -> None:
        self._requests = requests
        self._listener = listener
        self._sender = sender
        self._view = view
        self._streams = streams
        self._labels = labels

    def collect(self) -> Iterator[Metric]:
        view = self._view
        yield from builds(view, _version())
        yield zookeeper_requests(view, self._requests)
        yield single(
            "zookeeper_connected", "1 while ZooKeeper answers and figures are current.", view.zookeeper_connected
        )
        if view.read_ms:
            read = view.read_ms / 1000
            yield single("monitor_snapshot_timestamp_seconds", "Time of the last read of ZooKeeper.", read)
            yield single(
                "monitor_snapshot_duration_seconds", "Duration of the last read of ZooKeeper.", view.read_seconds
            )
        yield single("monitor_streams", "Browsers with an event stream.", self._streams)
        yield from _listeners(view, self._listener)
        yield from _takeovers(view)
        yield _firing(view)
        yield from _messages(self._sender)
        if view.stale_since_ms is None:
            yield from _tasks(view.tasks)
            yield from _addresses(view)
            yield from _labels(view.tasks, self._labels)
            yield from machine_metrics(view.machines)
            yield from core_events(view.machines)


def _firing(view: View) -> Metric:
    """By rule: the tasks are in /api/alerts, and their number is not bounded."""
    counts = Counter((one.rule, one.severity) for one in view.alerts)
    rows = [(key, float(count)) for key, count in sorted(counts.items())]
    return gauge("alerts_firing", "Alerts that fire and are not silenced, by rule.", ["rule", "severity"], rows)


def _messages(sender: SenderView | None) -> Iterator[Metric]:
    """Only of a Monitor that has routes."""
    if sender is None or not sender.configured:
        return
    yield single("alert_sender", "1 while this Monitor is the one that sends alerts.", sender.sends)
    yield single("alert_send_problem", "1 while this Monitor can't send alerts.", bool(sender.problem))
    for name, text, counts in (
        ("alert_messages_sent", "Messages that a route has accepted.", [(r.name, r.sent) for r in sender.routes]),
        ("alert_send_failures", "Attempts that a route refused.", [(r.name, r.failed) for r in sender.routes]),
    ):
        yield labelled_counter(name, text, ["route"], [((route,), number) for route, number in counts])


def _tasks(tasks: Iterable[TaskRow]) -> Iterator[Metric]:
    tasks = list(tasks)

    def per_task(name: str, text: str, values: list[float | None]) -> Metric:
        rows = [((task.name,), value) for task, value in zip(tasks, values, strict=True) if value is not None]
        return gauge(name, text, ["task"], rows)

    states = [((task.name, task.state), 1.0) for task in tasks]
    yield gauge("task_state", "State of the task, always 1.", ["task", "state"], states)
    wanted = [((task.name, task.desired), 1.0) for task in tasks]
    yield gauge("task_desired", "What operators want of the task, always 1.", ["task", "desired"], wanted)
    yield gauge("task_role", "Role of each Core in a task, always 1.", ["task", "host", "role"], _roles(tasks))
    yield per_task("task_running_members", "Cores that report RUNNING: at most 1.", [t.running for t in tasks])
    yield per_task("task_standby_members", "Cores that can take over.", [len(t.standbys) for t in tasks])
    yield per_task("task_wanted_standbys", "Standbys that the task is to have.", [t.wanted_standbys for t in tasks])
    unplaced = [((t.name, t.group), float(t.unplaced)) for t in tasks if t.group]
    yield gauge("task_unplaced", "1 while no Core of its group takes the task.", ["task", "group"], unplaced)
    yield per_task("task_maintenance", "1 while no standby can be promoted.", [bool(t.maintenance) for t in tasks])
    yield per_task("task_lag_seconds", "Age of the oldest change that is not delivered.", [t.lag_s for t in tasks])
    yield per_task(
        "task_lag_unknown", "1 while a task is RUNNING and its lag is unknown.", [_unknown(t) for t in tasks]
    )
    yield per_task("task_behind_bytes", "Binlog that is not delivered.", [t.behind_bytes for t in tasks])
    yield per_task(
        "task_behind_transactions",
        "Transactions, or records of topics, that are not delivered.",
        [t.behind_transactions for t in tasks],
    )
    yield per_task("task_figures_age_seconds", "Age of the Core's report.", [t.figures_age_s for t in tasks])
    yield per_task("task_clock_skew_seconds", "Clock of the source minus the Core's.", [t.clock_skew_s for t in tasks])
    yield from _retries(tasks)
    yield per_task(
        "source_retention_headroom_seconds",
        "Time until the source purges binlog that the task needs.",
        [t.retention_headroom_s for t in tasks],
    )
    yield per_task(
        "source_shared", "1 while the source is read over a shared connection.", [t.source_shared for t in tasks]
    )
    ends = [_seconds(t.certificate_ms) for t in tasks]
    yield per_task("certificate_expiry_timestamp_seconds", "Expiry of the first certificate to expire.", ends)
    yield per_task(
        "late_consumer_groups",
        "Consumer groups that lose records to retention.",
        [len(t.late_consumers) for t in tasks],
    )
    yield per_task(
        "task_last_event_timestamp_seconds", "Time of the last event read.", [_seconds(t.last_event_ms) for t in tasks]
    )
    yield per_task(
        "checkpoint_timestamp_seconds", "Time of the last checkpoint.", [_seconds(t.checkpoint_ms) for t in tasks]
    )
    yield per_task(
        "lease_remaining_seconds",
        "Remaining lease of the RUNNING Core.",
        [t.lease_left_s if t.leads and not t.figures_old else None for t in tasks],
    )
    yield per_task("task_epoch", "Epoch of the current term.", [t.epoch for t in tasks])
    yield per_task("tables_quarantined", "Tables in quarantine.", [len(t.quarantined) for t in tasks])
    yield from activities(tasks)
    yield from _snapshots(tasks)
    yield from _verifications(tasks)
    yield per_task("config_version", "Version of the configuration.", [t.config_version for t in tasks])
    yield per_task("config_invalid", "1 while the newest configuration is refused.", [t.config_invalid for t in tasks])
    yield counter("task_events", "Row changes delivered since the task was created.", [(t.name, t.rows) for t in tasks])
    yield counter(
        "task_transactions",
        "Transactions delivered since the task was created.",
        [(t.name, t.transactions) for t in tasks],
    )
    yield counter(
        "task_skipped_transactions",
        "Transactions left out because a task has written them (source.skip_replicated), since the task was created.",
        [(t.name, t.skipped) for t in tasks],
    )
    letters = [((t.name, "too_large"), float(t.dead_letters)) for t in tasks]
    yield labelled_counter("dead_letters", "Records that went to the dead letter topic.", ["task", "reason"], letters)
    yield counter(
        "target_conflicts",
        "Rows of the target that were not what the source says they were; see replicator_conflicts.",
        [(t.name, t.conflicts) for t in tasks],
    )
    kinds = [((t.name, one.policy, one.kind), float(one.count)) for t in tasks for one in t.conflict_counts]
    text = "Conflicts of bus_target_conflicts_total by policy and kind."
    yield labelled_counter("target_conflicts_by_kind", text, ["task", "policy", "kind"], kinds)
    modes = [((t.name, t.apply_mode), 1.0) for t in tasks if t.apply_mode]
    yield gauge("target_apply_info", "How rows are written at the target: binlog or sql.", ["task", "mode"], modes)


def _listeners(view: View, own: Listener | None) -> Iterator[Metric]:
    """Of this Monitor, and of the Servers as long as what they report is current."""
    found = [(("monitor", ""), own.expires_ms, bool(own.problem))] if own is not None else []
    if view.stale_since_ms is None:
        shown = [server for server in view.servers if server.certificate_ms]
        found += [(("server", each.host), each.certificate_ms, each.certificate_problem) for each in shown]
    labels = ["process", "host"]
    yield gauge(
        "listener_certificate_expiry_timestamp_seconds",
        "Expiry of the TLS certificate of Server and Monitor.",
        labels,
        [(key, ms / 1000) for key, ms, _ in found],
    )
    yield gauge(
        "listener_certificate_not_loaded",
        "1 while changed TLS files can't be used and the former certificate is in use.",
        labels,
        [(key, float(problem)) for key, _, problem in found],
    )


def _addresses(view: View) -> Iterator[Metric]:
    """Refusals only where there is an address: most tasks have none of the book."""
    uses = [((task.name, one.section), float(one.error is not None)) for task in view.tasks for one in task.addresses]
    yield gauge(
        "task_address_refused",
        "1 while a task is not connected to what the address book says.",
        ["task", "section"],
        uses,
    )
    probed = [((one.name, one.address), float(one.answers)) for one in view.addresses if one.answers is not None]
    yield gauge("address_answers", "1 while the server of an address answers the probe.", ["name", "address"], probed)


def _unknown(task: TaskRow) -> float | None:
    return float(task.lag_s is None) if task.state == "RUNNING" else None


def _retries(tasks: list[TaskRow]) -> Iterator[Metric]:
    waits = [((task.name, task.retrying.side or "other"), task.retrying) for task in tasks if task.retrying]
    for name, text, values in (
        ("task_retrying_seconds", "Time for which a task retries its source or sink.", [r.seconds for _, r in waits]),
        ("task_retry_attempts", "Failed attempts since then.", [float(r.attempts) for _, r in waits]),
    ):
        rows = [(labels, value) for (labels, _), value in zip(waits, values, strict=True)]
        yield gauge(name, text, ["task", "side"], rows)


def _snapshots(tasks: list[TaskRow]) -> Iterator[Metric]:
    """Gauges: the next snapshot of a task begins at 0 again."""
    taken = [((task.name,), task.snapshot) for task in tasks if task.snapshot is not None]
    for name, text, values in (
        ("snapshot_running", "1 while a snapshot is running.", [s.state == "running" for _, s in taken]),
        ("snapshot_rows", "Rows delivered by the snapshot.", [s.rows for _, s in taken]),
        ("snapshot_rows_expected", "Estimated rows of the snapshot.", [s.rows_expected for _, s in taken]),
        ("snapshot_tables", "Tables of the snapshot.", [s.tables for _, s in taken]),
        ("snapshot_needed", "1 if it was taken because the position was purged.", [bool(s.reason) for _, s in taken]),
        ("snapshot_tables_complete", "Tables that are complete.", [s.tables_complete for _, s in taken]),
        ("snapshot_consistent", "1 if its rows are of one consistent view.", [bool(s.view) for _, s in taken]),
        ("snapshot_views", "Consistent views that were opened for it.", [s.views for _, s in taken]),
        ("snapshot_rows_again", "Rows of lost views, delivered again.", [s.rows_again for _, s in taken]),
    ):
        yield gauge(name, text, ["task"], [(task, value) for (task, _), value in zip(taken, values, strict=True)])
    views = [(task, shown) for task, shown in taken if shown.view]
    opened = [(task, shown.view_ms / 1000) for task, shown in views]
    locked = [(task, shown.lock_ms / 1000) for task, shown in views]
    yield gauge("snapshot_view_timestamp_seconds", "When the consistent view was opened.", ["task"], opened)
    yield gauge("snapshot_lock_seconds", "How long writers were locked for the view.", ["task"], locked)


def _verifications(tasks: list[TaskRow]) -> Iterator[Metric]:
    done = [(task.name, task.verification) for task in tasks if task.verification is not None]
    rows = [((name, each.table), float(each.differences)) for name, kept in done for each in kept.tables]
    yield gauge("verify_differences", "Rows that differed at the last verification.", ["task", "table"], rows)
    counted = [((name, result), float(kept.count(result))) for name, kept in done for result in RESULTS]
    yield gauge("verify_tables", "Tables by the result of the last verification.", ["task", "result"], counted)
    for metric, text, times in (
        ("verify_last_timestamp_seconds", "End of the last verification.", [k.ended_ms for _, k in done]),
        (
            "verify_last_success_timestamp_seconds",
            "End of the last verification of all tables that found them equal.",
            [k.equal_ms for _, k in done],
        ),
    ):
        ends = [((name,), ms / 1000) for (name, _), ms in zip(done, times, strict=True) if ms]
        yield gauge(metric, text, ["task"], ends)


def label_name(key: str) -> str:
    """The label of the metric for a key of tasks' labels: `label_example_com_team`."""
    return "label_" + re.sub(r"[^A-Za-z0-9_]", "_", key)


def _labels(tasks: Iterable[TaskRow], keys: Sequence[str]) -> Iterator[Metric]:
    """A task without one of the labels has it with an empty value, as all series of a metric have the same labels."""
    if keys:
        rows = [((task.name, *(task.labels.get(key, "") for key in keys)), 1.0) for task in tasks]
        yield gauge("task_labels_info", "Labels of the task, always 1.", ["task", *map(label_name, keys)], rows)


def _roles(tasks: Iterable[TaskRow]) -> list[tuple[tuple[str, ...], float]]:
    roles = {(task.name, member.host, member.state or "UNKNOWN") for task in tasks for member in task.members}
    return [(role, 1.0) for role in sorted(roles)]


def _takeovers(view: View) -> Iterator[Metric]:
    changes = CounterMetricFamily(
        "bus_failovers", "Changes of the RUNNING Core seen by this Monitor.", labels=["task", "reason"]
    )
    # Every series from the beginning: the first step of one that appears with it would not count as an increase.
    for task in sorted({task.name for task in view.tasks} | view.takeovers.keys()):
        for kind in COUNTED:
            changes.add_metric([task, kind], view.takeovers.get(task, {}).get(kind, 0))
    yield changes
    total, buckets = 0, []
    for bound, number in zip((*map(str, DURATION_BUCKETS), "+Inf"), view.failover_buckets, strict=False):
        total += number
        buckets.append((bound, total))
    if buckets:
        histogram = HistogramMetricFamily(
            "bus_failover_duration_seconds", "Time without a RUNNING Core, per fail-over."
        )
        histogram.add_metric([], buckets, view.failover_seconds)
        yield histogram


def _seconds(ms: int) -> float | None:
    return ms / 1000 if ms else None


def _version() -> str:
    try:
        return version("mysql-replicator")
    except PackageNotFoundError:
        return "unknown"
