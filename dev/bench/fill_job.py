"""Our path of the first filling of a target: a snapshot of the table into an empty one of a second server."""

from __future__ import annotations

from dev.bench import apply_job, ours, snapshot_job
from dev.bench.job import Job

steady = ours.steady


def run(job: Job) -> int:
    """Returns the number of rows committed at the target."""
    task = {**snapshot_job.task(job), "sink": apply_job.task(job)["sink"]}
    return ours.deliver(job, task, None, snapshot_only=True)
