"""Our path into a second server: the pipeline that a Core's worker runs, until the rows are committed there."""

from __future__ import annotations

from typing import Any

from dev.bench import ours
from dev.bench.job import Job
from replicator.model.position import Position

steady = ours.steady

ACCOUNT = ("applier", "replicator")
"""Of the target; the password is that of the source, as a job has one."""


def task(job: Job) -> dict[str, Any]:
    """The task's configuration. `job.bootstrap`: host:port of the target, a server of the source's kind."""
    host, port = job.bootstrap.rsplit(":", 1)
    sink = {
        "type": job.flavor,
        "host": host,
        "port": int(port),
        "user": ACCOUNT[0],
        "password": "env:REPL_BENCH_PASSWORD",
    }
    by_key = {"order": "key", "connections": job.connections} if job.connections > 1 else {}
    by_sql = {} if job.applied == "binlog" else {"apply": "sql", "load_data": job.applied == "load"}
    config = ours.task(job)
    return {**config, "sink": sink | by_key | by_sql}


def run(job: Job) -> int:
    """Applies the segment. Returns the number of row changes committed at the target."""
    return ours.deliver(job, task(job), Position(job.file, job.end))
