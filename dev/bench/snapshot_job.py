"""Our path of a snapshot: the pipeline that a Core's worker runs, until the rows of the table are delivered."""

from __future__ import annotations

from typing import Any

from dev.bench import ours
from dev.bench.job import Job

steady = ours.steady


def task(job: Job) -> dict[str, Any]:
    """The task's configuration: that of a stream, with a snapshot instead of a start position."""
    config = ours.task(job)
    source = {name: value for name, value in config["source"].items() if name != "start"}
    return {**config, "source": {**source, "snapshot": "initial"}}


def run(job: Job) -> int:
    """Delivers the table. Returns the number of rows delivered and acknowledged."""
    return ours.deliver(job, task(job), None, snapshot_only=True)
