"""Metrics of what the data path of each task does: stages, publish duration, records in flight.

The counters are those of the task's worker and begin at 0 with each worker, as Prometheus allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client.core import Metric

from monitor.metric_families import counter, gauge, histogram, labelled_counter
from monitor.view import TaskRow
from replicator.model.activity import BLOCKED_STAGES, BUSY_STAGES, PUBLISH_BUCKETS


def activities(tasks: Iterable[TaskRow]) -> Iterator[Metric]:
    """Of the tasks whose worker reports."""
    tasks = list(tasks)
    known = [(task.name, task.activity) for task in tasks if task.activity is not None]
    yield labelled_counter(
        "stage_busy_seconds",
        "Time in which a stage of the task worked, since its worker started.",
        ["task", "stage"],
        [((name, stage), activity.busy_s(stage)) for name, activity in known for stage in BUSY_STAGES],
    )
    yield labelled_counter(
        "stage_blocked_seconds",
        "Time in which a stage of the task waited for the one behind it, since its worker started.",
        ["task", "stage"],
        [((name, stage), activity.blocked_s(stage)) for name, activity in known for stage in BLOCKED_STAGES],
    )
    yield histogram(
        "publish_duration_seconds",
        "Time from the first change of a commit that is handed to the sink to its acknowledgement.",
        ["task"],
        PUBLISH_BUCKETS,
        [((name,), activity.publishes) for name, activity in known],
    )
    yield counter(
        "task_event_bytes",
        "Bytes of keys and values delivered since the worker started.",
        [(name, activity.bytes) for name, activity in known],
    )
    for metric, text, values in (
        (
            "inflight_records",
            "Records handed to the sink and not acknowledged.",
            [a.inflight_records for _, a in known],
        ),
        ("inflight_bytes", "Their keys and values, in bytes.", [a.inflight_bytes for _, a in known]),
    ):
        yield gauge(metric, text, ["task"], [((name,), v) for (name, _), v in zip(known, values, strict=True)])
    limits = [((task.name,), float(task.inflight_limit_bytes)) for task in tasks if task.inflight_limit_bytes]
    yield gauge("inflight_limit_bytes", "sink.max_in_flight_bytes of the task.", ["task"], limits)
