"""The interface of what shows the progress of a pipeline."""

from __future__ import annotations

from typing import Protocol

from replicator.errors import ReplicatorError
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position
from replicator.pipeline.delivery_progress import DeliveryCounters


class Observer(Protocol):
    """Receives what happens, to show it: the worker's link to its agent, or the live line of `replicator run`."""

    def streaming(self, position: Position) -> None: ...

    def waiting(self, error: ReplicatorError) -> None: ...

    def progress(self, checkpoint: Checkpoint, figures: DeliveryCounters) -> None: ...
