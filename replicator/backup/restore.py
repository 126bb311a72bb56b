"""Writes a backup into the tree: whole tasks, which no Core begins before they are complete."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from typing import Final

from replicator.backup.archive import Backup
from replicator.backup.plan import Planner, Step, refuse
from replicator.backup.shared_nodes import SharedNodes
from replicator.backup.task_restore import TaskRestore
from replicator.coordination.clock import now_ms
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import RestoreRecord, dump
from replicator.coordination.tasks.registry import Registry
from replicator.coordination.tasks.status import Status
from replicator.errors import NodeExists, NodeMissing, ProcessError

_POLL: Final = 0.2
_TRIES: Final = 3
REMOVAL_SECONDS: Final = 120.0
"""A Core that drains has up to a minute."""


class Restore:
    """
    Args:
        by: who restores, for the history.
        paused: tasks stay paused.
        report: told of each task that is complete, and what is to be said of it.
    """

    def __init__(
        self,
        coordinator: Coordinator,
        layout: Layout,
        backup: Backup,
        by: str,
        *,
        paused: bool = False,
        report: Callable[[str, str], None] = lambda task, note: None,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._coordinator = coordinator
        self._layout = layout
        self._backup = backup
        self._by = by
        self._paused = paused
        self._report = report
        self._sleep = sleep
        self._planner = Planner(coordinator, layout, backup)
        self._registry = Registry(coordinator, layout)
        self._shared = SharedNodes(coordinator, layout, backup)

    def plan(self, tasks: Sequence[str] = (), *, overwrite: bool = False) -> list[Step]:
        """Raises ProcessError E5003, E5102, E5104."""
        return self._planner.steps(tasks, overwrite=overwrite)

    def run(self, tasks: Sequence[str] = (), *, overwrite: bool = False) -> list[Step]:
        """May be called again after an interruption: what is complete is kept, the rest written again.

        Raises:
            ProcessError: E5102 the file, E5103 a task exists, E5104 another installation, E5105 another restore.
            NotConnected: call again.
        """
        self._backup.verify()
        steps = self.plan(tasks, overwrite=overwrite)
        refuse(steps)
        self._registry.names()  # makes the parent
        if not tasks:
            self._begin(overwrite=overwrite)
        self._shared.installation(self._planner.installation())
        for step in steps:
            if step.action == "replace":
                self._remove(step.task)
        self._shared.write(tasks)
        for step in steps:
            if step.action != "keep":
                self._report(step.task, self._create(step.task))
        if not tasks:
            self._end()
        return steps

    def _begin(self, *, overwrite: bool) -> None:
        """Marks the tree, so that a second run knows which tasks are of this restore."""
        record = RestoreRecord(backup=self._backup.digest, begun_ms=now_ms())
        try:
            self._coordinator.create(self._layout.restore, dump(record), parents=True)
            return
        except NodeExists:
            found = self._planner.under_way()
        if found == self._backup.digest:
            return
        if not overwrite:
            raise ProcessError(
                "E5105",
                "the restore of another backup was begun and has not ended",
                found=f"manifest {found[:12]}",
                wanted=f"manifest {self._backup.digest[:12]}",
                fix="Complete that one first, or give --overwrite.",
            )
        self._coordinator.set(self._layout.restore, dump(record))

    def _end(self) -> None:
        try:
            self._coordinator.delete(self._layout.restore)
        except NodeMissing:
            return

    def _create(self, task: str) -> str:
        for _ in range(_TRIES):
            try:
                return self._task_restore(task).run()
            except NodeExists:
                self._remove_registered(task)
        raise ProcessError("E5103", f"'{task}' was created by another process during each attempt to restore it")

    def _task_restore(self, task: str) -> TaskRestore:
        manifest, run = self._backup.manifest, uuid.uuid4().hex[:12]
        part = self._backup.part(task)
        return TaskRestore(self._coordinator, self._layout, part, manifest, self._by, run, paused=self._paused)

    def _remove_registered(self, task: str) -> None:
        """One that a Core has registered since the plan was made."""
        step = self._planner.steps([task], overwrite=False)[0]
        refuse([step])
        if step.action == "replace":
            self._remove(task)

    def _remove(self, task: str) -> None:
        """Raises ProcessError E5009: Cores do not leave it."""
        try:
            Status(self._coordinator, self._layout).set(task, "deleted", self._by, "restored from a backup")
        except NodeMissing:
            return
        until = time.monotonic() + REMOVAL_SECONDS
        while True:
            try:
                if not self._registry.remove(task):
                    return
            except NodeMissing:
                return
            except ProcessError as error:
                if error.code != "E5007" or time.monotonic() > until:
                    raise
            self._sleep(_POLL)
