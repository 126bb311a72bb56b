"""Decides what a restore does with each task of a backup. Reads only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias, TypeVar

import msgspec

from replicator.backup.archive import Backup
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import CommitRecord, InstallationRecord, RestoreRecord, StatusRecord, TaskRecord
from replicator.coordination.records import load as load_record
from replicator.coordination.tasks.registry import Registry
from replicator.errors import CoordinationError, NodeMissing, ProcessError

Action: TypeAlias = Literal["create", "replace", "keep", "refuse"]
_SHOWN: Final = 10
R = TypeVar("R", StatusRecord, CommitRecord)


class Step(msgspec.Struct, frozen=True):
    """What happens with one task: "create": it is not there; "replace": it is removed first; "keep": an earlier run of
    this restore has completed it; "refuse": it exists. `why`: for people."""

    task: str
    action: Action
    why: str = ""


class Planner:
    def __init__(self, coordinator: Coordinator, layout: Layout, backup: Backup) -> None:
        self._coordinator = coordinator
        self._layout = layout
        self._backup = backup

    def steps(self, tasks: Sequence[str], *, overwrite: bool) -> list[Step]:
        """`tasks`: () for all of the backup. Raises ProcessError E5003 for one that it does not have, E5104."""
        for task in tasks:
            if task not in self._backup.manifest.tasks:
                raise ProcessError("E5003", f"the backup has no task '{task}'", fix="`--dry-run` shows its tasks.")
        self._refuse_installation()
        resumed = not overwrite and not tasks and self.under_way() == self._backup.digest
        chosen = tuple(dict.fromkeys(tasks)) or self._backup.manifest.tasks
        return [self._step(task, overwrite=overwrite, resumed=resumed) for task in chosen]

    def under_way(self) -> str:
        """Digest of the backup whose restore was begun and has not ended; "" without."""
        try:
            return load_record(RestoreRecord, self._coordinator.get(self._layout.restore).data).backup
        except NodeMissing:
            return ""

    def _step(self, task: str, *, overwrite: bool, resumed: bool) -> Step:
        present = self._record(task)
        if present is None:
            return Step(task, "create")
        status = self._read(StatusRecord, self._layout.status(task))
        if status is not None and status.restoring:
            return Step(task, "replace", "an earlier restore has not completed it")
        if status is not None and status.desired == "deleted":
            return Step(task, "replace", "it is being deleted")
        if present.config is None and not self._has_position(task):
            return Step(task, "replace", "a Core has registered it, and it has no configuration")
        if overwrite:
            return Step(task, "replace", "--overwrite")
        if resumed and present.uid == self._saved_uid(task):
            return Step(task, "keep", "restored before the interruption")
        return Step(task, "refuse", "it exists")

    def _saved_uid(self, task: str) -> str:
        top = self._backup.part(task).find("")
        try:
            return load_record(TaskRecord, top.data).uid if top is not None else ""
        except CoordinationError:
            return ""

    def _record(self, task: str) -> TaskRecord | None:
        """None: there is no such task. One that can't be read counts as configured."""
        try:
            return load_record(TaskRecord, self._coordinator.get(self._layout.task(task)).data)
        except NodeMissing:
            return None
        except CoordinationError as error:
            if error.transient:
                raise
            return TaskRecord(uid="", config={})

    def _has_position(self, task: str) -> bool:
        commit = self._read(CommitRecord, self._layout.last_commit(task))
        return commit is not None and commit.checkpoint is not None

    def _read(self, kind: type[R], path: str) -> R | None:
        try:
            return load_record(kind, self._coordinator.get(path).data, path)
        except CoordinationError as error:
            if error.transient:
                raise
            return None

    def _refuse_installation(self) -> None:
        """Raises ProcessError E5104: tasks that are there have their positions under another id."""
        ours, present = self._backup.manifest.installation, self.installation()
        if not ours or not present or ours == present:
            return
        tasks = [task for task in self._tasks() if (found := self._record(task)) and found.config is not None]
        if tasks:
            raise ProcessError(
                "E5104",
                f"{self._layout.root} is another installation than the backup, and in use",
                found=f"{present}, with {', '.join(tasks[:_SHOWN])}",
                wanted=f"{ours}, or no configured task",
            )

    def _tasks(self) -> list[str]:
        return Registry(self._coordinator, self._layout).names()

    def installation(self) -> str:
        """Of the tree; "" without."""
        try:
            return load_record(InstallationRecord, self._coordinator.get(self._layout.installation).data).id
        except NodeMissing:
            return ""


def refuse(steps: Sequence[Step]) -> None:
    """Raises ProcessError E5103 where a task exists, before anything is written."""
    found = [step.task for step in steps if step.action == "refuse"]
    if found:
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise ProcessError("E5103", "the restore would overwrite tasks", found=f"{', '.join(found[:_SHOWN])}{more}")
