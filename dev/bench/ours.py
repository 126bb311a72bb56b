"""Our path: the pipeline that a Core's worker runs, with its checkpoint in memory."""

from __future__ import annotations

import multiprocessing
import os
import threading
from typing import Any

from dev.bench.job import Job
from replicator.assembly import build_pipeline
from replicator.checkpoint.memory import MemoryStore
from replicator.config.load import parse_task
from replicator.errors import ReplicatorError
from replicator.ledger import Figures
from replicator.model.batch import Batch
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position
from replicator.model.term import Term

PARTITIONS = 4


class Silent:
    """An observer that only refuses to be slowed down unseen: a run that had to try again is not a measurement."""

    def streaming(self, position: Position) -> None:
        return

    def waiting(self, error: ReplicatorError) -> None:
        raise error

    def progress(self, checkpoint: Checkpoint, figures: Figures) -> None:
        return


class Nowhere:
    """A sink that drops what it gets: what reading, decoding and rendering cost by themselves."""

    left: Position | None = None
    dead_letters = 0

    def __init__(self) -> None:
        self._committed: Position | None = None

    def open(self, term: Term) -> Position | None:
        return None

    def write(self, batch: Batch) -> None:
        return

    def commit(self, position: Position) -> None:
        self._committed = position

    def acknowledged(self) -> Position | None:
        return self._committed

    def flush(self, timeout: float) -> None:
        return

    def close(self) -> None:
        return


def task(job: Job) -> dict[str, Any]:
    """The task's configuration; its password is read from BENCH_PASSWORD."""
    sink = {
        "type": "kafka",
        "bootstrap_servers": [job.bootstrap],
        "topic": "{task}",
        "format": job.format,
        "delivery": job.delivery,
        "partitions": PARTITIONS,
    }
    if job.compression != "none":
        sink["compression"] = job.compression
    return {
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
        "sink": sink,
    }


def run(job: Job) -> int:
    """Delivers the whole segment. Returns the row changes delivered and acknowledged."""
    os.environ["BENCH_PASSWORD"] = job.password
    config = parse_task(task(job))
    parts: dict[str, Any] = {
        "term": Term.unlimited(job.name, "bench"),
        "store": MemoryStore(),
        "observer": Silent(),
        "save_interval": 3600.0,
    }
    if job.path == "nowhere":
        parts["sink"] = Nowhere()
    if job.path == "guarded":
        parts |= _guards(job)
    pipeline = build_pipeline(config, **parts)
    pipeline.run(Position(job.file, job.end))
    return pipeline.figures.rows


def _guards(job: Job) -> dict[str, Any]:
    """What a Core's worker has besides: the lease in shared memory and the thread that watches it, the pipe to its
    agent with the checkpoints and the figures, five times a second. The agent is another process, as there."""
    from core.worker import PROGRESS_SECONDS, AgentObserver, AgentStore, Link, _watch_lease
    from replicator.telemetry import log

    ours, theirs = multiprocessing.get_context("fork").Pipe()
    if not os.fork():
        theirs.close()
        _agent(ours)
    ours.close()
    deadline = multiprocessing.RawValue("d", float("inf"))
    term = Term(job.name, "bench", 1, lambda: float(deadline.value))
    threading.Thread(
        target=_watch_lease, args=(term, multiprocessing.RawValue("d", 0.0)), name="lease", daemon=True
    ).start()
    link = Link(theirs)
    store = AgentStore(link, None)
    threading.Thread(target=link.listen, args=(None,), name="agent", daemon=True).start()
    observer = AgentObserver(link, store, log.get_logger("worker"))
    return {"term": term, "store": store, "observer": observer, "save_interval": PROGRESS_SECONDS}


def _agent(connection: Any) -> None:
    """Reads what the worker says, and says of each checkpoint that it is saved."""
    from core.protocol import Progress, Saved

    try:
        while True:
            message = connection.recv()
            if isinstance(message, Progress):
                connection.send(Saved(message.number))
    except (EOFError, OSError):
        os._exit(0)
