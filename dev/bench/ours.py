"""Our path: the pipeline that a Core's worker runs, with its checkpoint in memory."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any

from dev.bench.job import Job, cpu_seconds
from dev.observer import Strict
from replicator.assembly.pipeline import build_pipeline
from replicator.checkpoint.memory_store import MemoryStore
from replicator.config.load import parse_task
from replicator.model.batch import Batch
from replicator.model.position import Position
from replicator.model.term import Term
from replicator.sink.kafka.preload import build_codecs

build_codecs()  # as a Core's template before workers are forked from it

PARTITIONS = 4
LEFT_OUT = 0.1
"""Of the rows: where a path is compared from its first tenth on, as a start of its own takes its time."""


class Nowhere:
    """A sink that drops what it gets: what reading, decoding and rendering cost by themselves."""

    left: Position | None = None
    dead_letters = 0
    holds_position = False
    holds_rows = unfinished = False
    conflicts = 0
    waited_s = 0.0
    by_sql = False

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

    def flush(self, timeout: float, progress: Callable[[], None] | None = None) -> None:
        return

    def close(self) -> None:
        return


class Watch:
    """Notes when the first tenth of the rows is acknowledged.

    Attributes:
        steady: (rows, seconds, CPU seconds of the process) from then to the end; None before both are there.
    """

    def __init__(self, rows: Callable[[], int], wanted: int) -> None:
        self.steady: tuple[int, float, float] | None = None
        self._rows, self._wanted = rows, wanted
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while self._rows() < self._wanted:
            if self._over.wait(0.01):
                return
        began, used, rows = time.monotonic(), cpu_seconds(), self._rows()
        self._over.wait()
        self.steady = self._rows() - rows, time.monotonic() - began, cpu_seconds() - used


_watch: Watch | None = None


def steady() -> tuple[int, float, float] | None:
    """Of the last run: see `Watch`."""
    return _watch.steady if _watch is not None else None


def task(job: Job) -> dict[str, Any]:
    """The task's configuration; its password is read from REPL_BENCH_PASSWORD."""
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
            "password": "env:REPL_BENCH_PASSWORD",
            "tables": ["bench.orders"],
            "start": {"file": job.file, "position": job.start},
        },
        "sink": sink,
    }


def run(job: Job, **others: Any) -> int:
    """Delivers the whole segment. Returns the row changes delivered and acknowledged. others: parts of the pipeline
    in place of the usual ones."""
    return deliver(job, task(job), Position(job.file, job.end), **others)


def deliver(job: Job, config: dict[str, Any], until: Position | None, **others: Any) -> int:
    """See `run`. config: the task's. until: where the pipeline ends by itself, or None."""
    os.environ["REPL_BENCH_PASSWORD"] = job.password
    parts: dict[str, Any] = {
        "term": Term.unlimited(job.name, "bench"),
        "store": MemoryStore(),
        "observer": Strict(),
        "save_interval": 3600.0,
    }
    if job.path == "nowhere":
        parts["sink"] = Nowhere()
    pipeline = build_pipeline(parse_task(config), **(parts | others))
    global _watch
    with Watch(lambda: pipeline.figures.rows, int(job.rows * LEFT_OUT)) as _watch:
        pipeline.run(until)
    return pipeline.figures.rows
