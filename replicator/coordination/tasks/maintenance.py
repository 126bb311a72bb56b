"""Maintenance mode: no standby is promoted while operators work on the machines."""

from __future__ import annotations

from replicator.coordination.clock import now_ms
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator, Create
from replicator.coordination.records import MaintenanceRecord, dump, load
from replicator.coordination.tasks.nodes import create_in_task
from replicator.coordination.watches import Watches
from replicator.errors import CoordinationError, NodeExists, NodeMissing


class Maintenance:
    """Of one task by its name, or of all by ""."""

    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self._coordinator = coordinator
        self._layout = layout

    def begin(self, task: str, by: str, reason: str) -> bool:
        """False when it was on already. Raises NodeMissing E5003 (no such task)."""
        data = dump(MaintenanceRecord(by=by, time_ms=now_ms(), reason=reason))
        try:
            if task:
                node = Create(self._layout.maintenance(task), data)
                create_in_task(self._coordinator, self._layout, task, node)
            else:
                self._coordinator.create(self._layout.maintenance(), data, parents=True)
        except NodeExists:
            return False
        return True

    def end(self, task: str) -> bool:
        """False when it was off already."""
        try:
            self._coordinator.delete(self._layout.maintenance(task))
        except NodeMissing:
            return False
        return True

    def read(self, task: str) -> MaintenanceRecord | None:
        """None: it is off. A node that nobody understands means on."""
        path = self._layout.maintenance(task)
        try:
            return load(MaintenanceRecord, self._coordinator.get(path).data, path)
        except NodeMissing:
            return None
        except CoordinationError as error:
            if error.transient:
                raise
            return MaintenanceRecord()

    def holds(self, task: str, watches: Watches) -> bool:
        """Whether it is on for the task, by itself or with all; watched either way."""
        found = False
        for path in (self._layout.maintenance(task), self._layout.maintenance()):
            with watches.on("data", path) as watch:
                found = self._coordinator.exists(path, watch) is not None or found
        return found
