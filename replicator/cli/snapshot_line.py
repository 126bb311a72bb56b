"""Text of the progress of a snapshot: the same for tasks on a bus and for `replicator run`."""

from __future__ import annotations

from typing import Any

from replicator.cli.task.render import duration, moment, rate
from replicator.model.decoding import converted
from replicator.model.snapshot_report import SnapshotReport


def line(taken: SnapshotReport) -> str:
    """`running, 42 %: 1200 of about 2800 rows, 3.1 MB, 2 of 7 tables, reading shop.item, 60 rows/s, about 27s left`."""
    running = taken.state != "complete"
    expected = f" of about {taken.rows_expected}" if running and taken.rows_expected else ""
    parts = [
        f"{taken.rows}{expected} rows",
        f"{taken.bytes / 1e6:.1f} MB",
        f"{taken.tables_complete} of {taken.tables} tables",
        f"reading {taken.table}" if taken.table else "",
        "which has more rows than expected" if taken.growing else "",
        f"{rate(taken.rows_per_s)} rows/s" if taken.rows_per_s is not None else "",
        f"about {duration(taken.eta_s)} left" if taken.eta_s is not None else "",
        taken.waits,
        _view(taken),
        f"begun {taken.views} times, {taken.rows_again} rows delivered again" if taken.views > 1 else "",
        f"no such table: {', '.join(taken.absent)}" if taken.absent else "",
        f"consistent since {taken.consistent_since}" if taken.consistent_since else "",
    ]
    cause = f"{taken.id}, tables added by version {taken.version}" if taken.version else taken.id
    named = "" if cause == "initial" else f" ({cause})"
    head = f"{taken.state}{named}" + (f", {taken.percent} %" if running else "")
    return f"{head}: {', '.join(part for part in parts if part)}"


def _view(taken: SnapshotReport) -> str:
    if not taken.view:
        return ""
    since = f" since {moment(taken.view_ms)}" if taken.view_ms else ""
    return f"of the view at {taken.view}{since}, locked for {taken.lock_ms:g} ms"


def with_times(taken: dict[str, Any]) -> str:
    """`line` with its beginning and end. `taken`: a SnapshotReport as the API gives it."""
    report = converted(taken, SnapshotReport)
    ended = f", ended {moment(report.ended_ms)}" if report.ended_ms else ""
    return f"{line(report)}, begun {moment(report.begun_ms)}{ended}"
