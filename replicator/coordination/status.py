"""What operators want of a task: running, paused or deleted."""

from __future__ import annotations

from replicator.coordination.clock import now_ms
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator, Watcher
from replicator.coordination.records import StatusRecord, dump, load
from replicator.errors import NodeExists, NodeMissing

DESIRED = ("running", "paused", "deleted")


class Status:
    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self._coordinator = coordinator
        self._layout = layout

    def read(self, task: str, watch: Watcher | None = None) -> StatusRecord:
        """A task without a status runs; `watch` then waits for one. Raises CoordinationError E4009/E4010."""
        path = self._layout.status(task)
        try:
            return load(StatusRecord, self._coordinator.get(path, watch).data, path)
        except NodeMissing:
            if watch is not None:
                self._coordinator.exists(path, watch)
            return StatusRecord()

    def set(self, task: str, desired: str, by: str, reason: str = "") -> StatusRecord:
        """Raises NodeMissing E5003 (no such task); ValueError for a word that is not in DESIRED."""
        if desired not in DESIRED:
            raise ValueError(f"desired state {desired!r} is none of {DESIRED}")
        if self._coordinator.exists(self._layout.task(task)) is None:
            raise NodeMissing("E5003", f"there is no task '{task}'")
        record = StatusRecord(desired=desired, by=by, time_ms=now_ms(), reason=reason)
        path = self._layout.status(task)
        try:
            self._coordinator.set(path, dump(record))
        except NodeMissing:
            try:
                self._coordinator.create(path, dump(record))
            except NodeExists:
                self._coordinator.set(path, dump(record))
        return record
