"""Our path: the pipeline that a Core's worker runs, exactly_once, with its checkpoint in memory."""

from __future__ import annotations

import os

from dev.bench.job import Job
from replicator.assembly import build_pipeline
from replicator.checkpoint.memory import MemoryStore
from replicator.config.load import parse_task
from replicator.errors import ReplicatorError
from replicator.ledger import Figures
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position
from replicator.model.term import Term

PARTITIONS = 4


class _Silent:
    """An observer that only refuses to be slowed down unseen: a run that had to try again is not a measurement."""

    def streaming(self, position: Position) -> None:
        return

    def waiting(self, error: ReplicatorError) -> None:
        raise error

    def progress(self, checkpoint: Checkpoint, figures: Figures) -> None:
        return


def run(job: Job) -> int:
    """Delivers the whole segment. Returns the row changes delivered and acknowledged."""
    os.environ["BENCH_PASSWORD"] = job.password
    config = {
        "name": job.name,
        "source": {
            "type": job.flavor,
            "host": job.host,
            "port": job.port,
            "user": job.user,
            "password": "env:BENCH_PASSWORD",
            "tables": ["bench.orders"],
            "start": {"file": job.file, "position": job.start},
        },
        "sink": {
            "type": "kafka",
            "bootstrap_servers": [job.bootstrap],
            "topic": "{task}",
            "delivery": "exactly_once",
            "partitions": PARTITIONS,
        },
    }
    pipeline = build_pipeline(
        parse_task(config), term=Term.unlimited(job.name, "bench"), store=MemoryStore(), observer=_Silent()
    )
    pipeline.run(Position(job.file, job.end))
    return pipeline.figures.rows
