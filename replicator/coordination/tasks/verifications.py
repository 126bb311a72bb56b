"""/tasks/TASK/verify: the last verification of the task's target."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from replicator.coordination.layout import Layout
from replicator.coordination.ports import Check, Coordinator, Create, Op, Set
from replicator.coordination.records import VerificationRecord, dump, load
from replicator.coordination.tasks.registry import Registry
from replicator.errors import CoordinationError, NodeExists, NodeMissing, ProcessError, VersionConflict
from replicator.model.verification import Verification, VerificationReport, merged

_TRIES = 5


class Verifications:
    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self._coordinator, self._layout = coordinator, layout
        self._registry = Registry(coordinator, layout)

    def read(self, task: str, uid: str) -> Verification | None:
        """None: nothing was verified since this incarnation was created. Raises CoordinationError E4009/E4010."""
        path = self._layout.verification(task)
        try:
            found = load(VerificationRecord, self._coordinator.get(path).data, path).verification
        except NodeMissing:
            return None
        return found if found is not None and found.uid == uid else None

    def add(self, task: str, report: VerificationReport, by: str, also: Sequence[Op] = ()) -> Verification:
        """Adds the verdicts of `report` to those that are kept, in one transaction with `also`.

        Raises:
            NodeMissing: E5003, no such task.
            ProcessError: E5040, the report is of another task of this name, or of a later configuration.
            VersionConflict: E4006, other reports were written during each attempt.
        """
        path = self._layout.verification(task)
        for _ in range(_TRIES):
            node = self._registry.read(task)
            if node.record.uid != report.uid or report.version > node.version:
                raise ProcessError(
                    "E5040",
                    f"the result is not of the present task '{task}'",
                    found=f"uid {report.uid[:40]}, configuration version {report.version}",
                    wanted=f"uid {node.record.uid}, configuration version {node.version}",
                )
            before, version = self._before(path)
            after = merged(before, report, by)
            data = dump(VerificationRecord(verification=after))
            change = Create(path, data) if version < 0 else Set(path, data, version)
            with contextlib.suppress(VersionConflict, NodeExists, NodeMissing):
                # a task that is created again meanwhile begins with version 0, and without a result
                self._coordinator.multi([Check(self._layout.task(task), node.version), change, *also])
                return after
        raise VersionConflict("E4006", f"other verifications of '{task}' were reported at the same time")

    def _before(self, path: str) -> tuple[Verification | None, int]:
        """A result that can't be read is replaced."""
        try:
            node = self._coordinator.get(path)
        except NodeMissing:
            return None, -1
        try:
            return load(VerificationRecord, node.data, path).verification, node.stat.version
        except CoordinationError:
            return None, node.stat.version
