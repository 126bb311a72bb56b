"""/tasks/TASK/check: what the last check of a task has found."""

from __future__ import annotations

from typing import Final

from replicator.coordination.layout import Layout
from replicator.coordination.ports import Check, Coordinator, Create, Set, Watcher
from replicator.coordination.records import CheckRecord, dump, load
from replicator.errors import CoordinationError, NodeExists, NodeMissing, VersionConflict
from replicator.model.task_check import TaskCheck

VERB: Final = "check"
"""The command that orders one."""
_TRIES: Final = 3


class TaskCheckResults:
    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self._coordinator, self._layout = coordinator, layout

    def read(self, task: str, uid: str, watch: Watcher | None = None) -> TaskCheck | None:
        """None: this incarnation was not checked yet, or the result is not understood. Raises NotConnected."""
        path = self._layout.task_check(task)
        try:
            found = load(CheckRecord, self._coordinator.get(path, watch).data, path).check
        except NodeMissing:
            return None
        except CoordinationError as error:
            if error.transient:
                raise
            return None
        return found if found is not None and found.uid == uid else None

    def write(self, task: str, own: str, result: TaskCheck) -> bool:
        """Replaces the one before. False: nothing was written, as our node is gone, or the task.

        Args:
            own: name of our contender node: a Core that is no longer in the queue writes nothing.

        Raises CoordinationError: what the coordinator refuses; NotConnected.
        """
        path, data = self._layout.task_check(task), dump(CheckRecord(check=result))
        contender = Check(self._layout.contender(task, own))
        for _ in range(_TRIES):
            stat = self._coordinator.exists(path)
            change = Create(path, data) if stat is None else Set(path, data, stat.version)
            try:
                self._coordinator.multi([contender, change])
            except NodeMissing:
                return False
            except (NodeExists, VersionConflict):
                continue  # of the Core before us
            return True
        return False
