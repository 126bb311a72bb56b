"""An observer for runs in which nothing may go wrong: an error that a task would wait for ends it."""

from __future__ import annotations

from replicator.errors import ReplicatorError
from replicator.model.position import Position


class Strict:
    """`pipeline.Observer` of tests that compare all records, and of measurements."""

    def streaming(self, position: Position) -> None:
        return

    def waiting(self, error: ReplicatorError) -> None:
        raise error

    def progress(self, checkpoint: object, figures: object) -> None:
        return
