"""A checkpoint store in memory, for tests and for pipelines that do not store a position."""

from __future__ import annotations

from replicator.model.checkpoint import Checkpoint


class MemoryStore:
    """Keeps every checkpoint saved, in `saved`. `fail_with`: an exception that the next save raises."""

    def __init__(self, checkpoint: Checkpoint | None = None) -> None:
        self.saved: list[Checkpoint] = [] if checkpoint is None else [checkpoint]
        self.fail_with: Exception | None = None

    def load(self) -> Checkpoint | None:
        return self.saved[-1] if self.saved else None

    def save(self, checkpoint: Checkpoint) -> None:
        if self.fail_with is not None:
            error, self.fail_with = self.fail_with, None
            raise error
        self.saved.append(checkpoint)
