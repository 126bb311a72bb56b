"""Metrics of the processes: versions, what their Cores count, and how fast ZooKeeper answers them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client.core import Metric

from monitor.metric_families import gauge, histogram, labelled_counter
from monitor.view import MachineView, View
from replicator.model.core_events import FENCED_BY, NOT_WRITTEN, UNSUPPORTED
from replicator.model.histogram import Histogram
from replicator.telemetry.zookeeper_requests import BUCKETS


def builds(view: View, version: str) -> Iterator[Metric]:
    """Versions of this Monitor and, as long as what they report is current, of the Cores."""
    rows = [((version, "monitor", ""), 1.0)]
    rows += [((core.version, "core", core.host), 1.0) for core in _present(view) if core.version]
    yield gauge("build_info", "Version of the process, always 1.", ["version", "process", "host"], rows)


def zookeeper_requests(view: View, own: Histogram | None) -> Metric:
    """Of this Monitor, `own`, and of the Cores."""
    rows = [(("monitor", ""), own)] if own is not None else []
    rows += [(("core", core.host), core.requests) for core in _present(view) if core.requests is not None]
    return histogram(
        "zookeeper_request_duration_seconds",
        "Time until ZooKeeper has answered a request.",
        ["process", "host"],
        BUCKETS,
        rows,
    )


def core_events(machines: Iterable[MachineView]) -> Iterator[Metric]:
    """Every series begins at 0: the first step of one that appears with it would not count as an increase."""
    cores = [(machine.host, machine.counts) for machine in machines if machine.state in ("online", "silent")]
    for name, text, label, kinds, found in (
        ("fenced_operations", "Operations of ended terms that were stopped.", "layer", FENCED_BY, "fenced"),
        ("checkpoint_failures", "Checkpoints that were not written.", "reason", NOT_WRITTEN, "checkpoint_failures"),
        (
            "unsupported_events",
            "Events of sources that stopped a task or a table.",
            "type",
            tuple(UNSUPPORTED.values()),
            "unsupported_events",
        ),
    ):
        rows = [((host, kind), float(getattr(counts, found).get(kind, 0))) for host, counts in cores for kind in kinds]
        yield labelled_counter(name, text, ["host", label], rows)


def _present(view: View) -> list[MachineView]:
    if view.stale_since_ms is not None:
        return []
    return [machine for machine in view.machines if machine.state in ("online", "silent")]
