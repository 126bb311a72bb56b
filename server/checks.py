"""Checks that the Cores of tasks do: reads their results, and orders them."""

from __future__ import annotations

from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import CommandRecord
from replicator.coordination.tasks.checks import VERB, TaskCheckResults
from replicator.coordination.tasks.commands import Commands
from replicator.errors import ProcessError
from replicator.model.task_check import TaskCheck
from server.task_operations import TaskOperations


class CheckOperations:
    """Thread-safe. Every method raises NodeMissing E5003 for a task that is not there, NotConnected."""

    def __init__(self, coordinator: Coordinator, layout: Layout, operations: TaskOperations) -> None:
        self._operations = operations
        self._results = TaskCheckResults(coordinator, layout)
        self._commands = Commands(coordinator, layout)

    def last(self, name: str) -> TaskCheck | None:
        """What the Core that leads the task has found last; None before the first check."""
        return self._results.read(name, self._operations.task(name).uid)

    def order(self, name: str, by: str) -> CommandRecord:
        """Raises ProcessError E5007 where no Core leads the task, it has no configuration, or it is being deleted."""
        view = self._operations.task(name)
        missing = (
            "no Core takes part in its election"
            if view.running is None
            else "it has no configuration"
            if view.config is None
            else "it is being deleted"
            if view.desired == "deleted"
            else ""
        )
        if missing:
            raise ProcessError(
                "E5007",
                f"there is no Core that can check task '{name}'",
                found=missing,
                wanted="a Core that leads it, and a configuration",
                fix="Start a Core, or check it from a file on a host with its secrets: "
                "`replicator check -f TASK.yaml`.",
            )
        return self._commands.submit(name, VERB, {}, by)
