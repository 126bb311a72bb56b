"""Asks the source of a task what its stream does not say: where its log ends, its time, and how long it retains the
log."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from core.retention import Progressing, RetentionWatch
from replicator.errors import ReplicatorError
from replicator.model.position import Position
from replicator.model.source_end import SourceEnd
from replicator.pipeline.ports import Source
from replicator.pipeline.status import PipelineStatus

_SECONDS = 0.5


class Observable(Protocol):
    """`observe` of `ports.Source`."""

    def observe(self, delivered: Position | None = None) -> SourceEnd: ...


def watch_source(
    source: Source,
    store: Progressing,
    status: PipelineStatus,
    wait: Callable[[float], object] = time.sleep,
    *,
    refused: Callable[[], bool] = lambda: False,
) -> None:
    """Runs in a thread of its own for as long as the process. Asks nothing while the login is `refused`: each attempt
    counts for servers that lock accounts."""
    retention = RetentionWatch(source, store)
    while True:
        if not refused():
            retention.round()
            if status.shall_ask():
                ask(source, status, store)
        wait(_SECONDS)


def ask(source: Observable, status: PipelineStatus, store: Progressing) -> None:
    asked_ms, delivered = status.asking(), store.load()
    try:
        end = source.observe(delivered.position if delivered is not None else None)
    except ReplicatorError:
        status.asked(None, asked_ms)
        return
    status.clock(end.skew_ms)
    status.asked(end.position, asked_ms, end.behind)
