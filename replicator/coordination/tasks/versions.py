"""The versions of a task's configuration: each with its author, time and reason, oldest first.

A record is written in one transaction with the configuration itself, so that no version is without its record. Its
number is the data version of the task's znode. The records are below that znode: they end with the task, and a task
that is created again under the name begins with its own.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from typing import Final

from replicator.coordination.layout import Layout
from replicator.coordination.machines.payload import cut
from replicator.coordination.ports import Coordinator, Create, Op, Set
from replicator.coordination.records import TaskRecord, VersionRecord, dump, load
from replicator.errors import CoordinationError, NodeMissing, ProcessError

KEPT: Final = 100
KEPT_BYTES: Final = 4_000_000
"""Of all records of a task together. The newest is kept, whatever its size."""
_SPARE_BYTES: Final = 300_000
"""Of one request, for configuration and orders beside the record of the version that was there before."""
_MOST_TEXT: Final = 2000


class Versions:
    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self._coordinator = coordinator
        self._layout = layout

    def first(self, task: str, record: TaskRecord, reason: str) -> list[Op]:
        """What is created together with the task. A task that is registered has no version of a configuration yet."""
        operations: list[Op] = [Create(self._layout.versions(task))]
        if record.config is not None:
            path = self._layout.version(task, 0)
            operations.append(Create(path, dump(_record(0, record, "created", reason))))
        return operations

    def next(
        self, task: str, number: int, record: TaskRecord, before: TaskRecord | None, reason: str, restores: int | None
    ) -> list[Op]:
        """What is written together with version `number` of the task's znode.

        Args:
            before: the record that it replaces, None if that is not understood. Where a Server of an earlier release
                wrote it, it has no record; it gets one now, so that a rollback to it is possible.
            restores: number of the version that it is equal to, None for a new configuration.
        """
        operations: list[Op] = []
        if self._coordinator.exists(self._layout.versions(task)) is None:
            operations.append(Create(self._layout.versions(task)))
        if before is not None and before.config is not None:
            path, data = self._layout.version(task, number - 1), dump(unrecorded(number - 1, before))
            if len(data) < _SPARE_BYTES and self._coordinator.exists(path) is None:
                operations.append(Create(path, data))
        kind = "created" if before is not None and before.config is None else "configured"
        kind = kind if restores is None else "rollback"
        data = dump(_record(number, record, kind, reason, restores))
        path = self._layout.version(task, number)
        stat = self._coordinator.exists(path)  # a restored backup may have brought records of higher numbers
        operations.append(Create(path, data) if stat is None else Set(path, data, stat.version))
        return operations

    def read(self, task: str) -> list[VersionRecord]:
        """Oldest first. Records that this release does not understand are left out."""
        found = []
        for path, node in self._nodes(task):
            with contextlib.suppress(CoordinationError):
                found.append(load(VersionRecord, node, path))
        return found

    def get(self, task: str, number: int) -> VersionRecord:
        """Raises ProcessError E5090, CoordinationError E4009/E4010."""
        path = self._layout.version(task, number)
        try:
            return load(VersionRecord, self._coordinator.get(path).data, path)
        except NodeMissing:
            kept = ", ".join(str(int(name)) for name in self._names(task)) or "none"
            raise ProcessError("E5090", f"task '{task}' has no version {number}", found=f"kept: {kept}") from None

    def trim(self, task: str) -> None:
        """Deletes the oldest records beyond KEPT and KEPT_BYTES."""
        nodes = self._nodes(task)
        kept, size = 0, 0
        for _, data in reversed(nodes):
            size += len(data)
            if kept and (kept == KEPT or size > KEPT_BYTES):
                break
            kept += 1
        for path, _ in nodes[: len(nodes) - kept]:
            with contextlib.suppress(NodeMissing):
                self._coordinator.delete(path)

    def _nodes(self, task: str) -> list[tuple[str, bytes]]:
        paths = [f"{self._layout.versions(task)}/{name}" for name in self._names(task)]
        nodes = zip(paths, self._coordinator.get_many(paths), strict=True)
        return [(path, node.data) for path, node in nodes if node is not None]

    def _names(self, task: str) -> Sequence[str]:
        try:
            names = self._coordinator.children(self._layout.versions(task))
        except NodeMissing:
            return []
        return sorted(name for name in names if re.fullmatch("[0-9]{10}", name))


def unrecorded(number: int, record: TaskRecord) -> VersionRecord:
    """The version in a task's znode that has no record, written by a Server of an earlier release."""
    return _record(number, record, "", "")


def _record(number: int, record: TaskRecord, kind: str, reason: str, restores: int | None = None) -> VersionRecord:
    return VersionRecord(
        number=number,
        uid=record.uid,
        config=record.config or {},
        time_ms=record.updated_ms,
        by=record.updated_by,
        kind=kind,
        reason=cut(reason, _MOST_TEXT),
        restores=restores,
    )
