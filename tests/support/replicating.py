"""A task that runs in this process, into a database."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from replicator.assembly.pipeline import build_pipeline
from replicator.checkpoint.memory_store import MemoryStore
from replicator.config.task import TaskConfig
from replicator.errors import ReplicatorError
from replicator.model.position import Position
from replicator.model.term import Term
from tests.support.in_memory import Unseen


class _Seen(Unseen):
    def __init__(self) -> None:
        self.begun = threading.Event()
        self.errors: list[ReplicatorError] = []

    def streaming(self, position: Position) -> None:
        self.begun.set()

    def waiting(self, error: ReplicatorError) -> None:
        self.errors.append(error)


@contextmanager
def replicating(config: TaskConfig, store: MemoryStore | None = None, *, uid: str = "") -> Iterator[None]:
    """Within the block it streams. `uid`: of the task's incarnation."""
    seen = _Seen()
    pipeline = build_pipeline(
        config, term=Term.unlimited(config.name, uid), store=store or MemoryStore(), observer=seen, save_interval=0.1
    )
    run = threading.Thread(target=pipeline.run, name="task")
    run.start()
    try:
        assert seen.begun.wait(30), seen.errors
        yield
    finally:
        pipeline.drain()
        run.join(30)
        assert not run.is_alive()
