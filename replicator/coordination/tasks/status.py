"""The state of a task that operators have ordered: running, paused or deleted."""

from __future__ import annotations

import contextlib

import msgspec

from replicator.coordination.clock import now_ms
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Check, Coordinator, Create, Set, Watcher
from replicator.coordination.records import StatusRecord, dump, load
from replicator.coordination.tasks.nodes import create_in_task
from replicator.errors import CoordinationError, NodeExists, NodeMissing, ProcessError, VersionConflict

DESIRED = ("running", "paused", "deleted")
UNKNOWN = "unknown"
"""What a process says of a status that it can't read, a newer version's for instance. It may mean "paused": nothing is
started under it, while a worker that runs goes on."""
_TRIES = 5


class Status:
    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self._coordinator = coordinator
        self._layout = layout

    def read(self, task: str) -> StatusRecord:
        """A task without a status runs. Raises CoordinationError E4009/E4010."""
        return self.find(task) or StatusRecord()

    def find(self, task: str, watch: Watcher | None = None) -> StatusRecord | None:
        """None for a task without a status; `watch` then waits for one. Raises CoordinationError E4009/E4010, also for
        a wish that we don't know."""
        path = self._layout.status(task)
        try:
            record = load(StatusRecord, self._coordinator.get(path, watch).data, path)
        except NodeMissing:
            if watch is not None:
                self._coordinator.exists(path, watch)
            return None
        if record.desired not in DESIRED:
            wanted = " or ".join(DESIRED)
            raise CoordinationError(
                "E4010", f"{path} has an unknown desired state", found=repr(record.desired), wanted=wanted
            )
        return record

    def set(
        self, task: str, desired: str, by: str, reason: str = "", *, purge: bool = False, version: int | None = None
    ) -> StatusRecord:
        """Writes what is wanted. "deleted" is final: the task's nodes may be half removed. So is `purge` of a deletion.

        Args:
            version: of the configuration, at which alone it is written; None for any.

        Raises:
            NodeMissing: E5003, no such task.
            VersionConflict: E4006, the configuration has another version.
            ProcessError: E5007, the task is being deleted; E5105, it is being restored.
            ValueError: a word that is not in DESIRED.
        """
        if desired not in DESIRED:
            raise ValueError(f"desired state {desired!r} is not one of {DESIRED}")
        record = StatusRecord(desired=desired, by=by, time_ms=now_ms(), reason=reason, purge=purge)
        for _ in range(_TRIES):
            self._expect(task, version)
            with contextlib.suppress(VersionConflict, NodeExists):
                self._write(task, record, version)
                return record
        raise VersionConflict("E4006", f"the status of '{task}' was changed during each read")

    def _expect(self, task: str, version: int | None) -> None:
        if version is None:
            return
        stat = self._coordinator.exists(self._layout.task(task))
        if stat is None:
            raise NodeMissing("E5003", f"there is no task '{task}'")
        if stat.version != version:
            what, found = f"task '{task}' was changed by another process", f"version {stat.version}"
            raise VersionConflict("E4006", what, found=found, wanted=f"version {version}")

    def _write(self, task: str, record: StatusRecord, version: int | None) -> None:
        path = self._layout.status(task)
        try:
            node = self._coordinator.get(path)
        except NodeMissing:
            create_in_task(self._coordinator, self._layout, task, Create(path, dump(record)))
            return
        before = _known(node.data, path)
        if record.desired != "deleted":
            _refuse(task, before)
        elif before.desired == "deleted":
            record = msgspec.structs.replace(record, purge=record.purge or before.purge)
        expected = Check(self._layout.task(task), -1 if version is None else version)
        try:
            self._coordinator.multi([expected, Set(path, dump(record), node.stat.version)])
        except NodeMissing:
            raise NodeMissing("E5003", f"there is no task '{task}'") from None


def _known(data: bytes, path: str) -> StatusRecord:
    """An empty one for content that can't be read: whatever is wanted next replaces it."""
    try:
        return load(StatusRecord, data, path)
    except CoordinationError:
        return StatusRecord()


def _refuse(task: str, present: StatusRecord) -> None:
    if present.desired == "deleted":
        raise ProcessError("E5007", f"task '{task}' is being deleted", fix="Wait until the deletion has finished.")
    if present.restoring:
        raise ProcessError("E5105", f"task '{task}' is being restored from a backup", found=present.reason)
