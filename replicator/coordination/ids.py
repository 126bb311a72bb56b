"""Replica ids: one for each task, and no two tasks the same, over the whole cluster.

A source throws out the reader that was there when another one comes with its id. For instances of one task that is what
we want: the old leader's stream ends when the new one's begins. For two tasks it would be a war without end.
"""

from __future__ import annotations

import contextlib
from typing import Final

from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import ReplicaIdRecord, dump, load
from replicator.errors import CoordinationError, NodeExists, NodeMissing, ProcessError
from replicator.model.replica_id import derived

_HIGHEST: Final = (1 << 32) - 1
_TRIES: Final = 10_000


class ReplicaIds:
    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self._coordinator = coordinator
        self._layout = layout

    def of(self, task: str, uid: str, configured: int | None) -> int:
        """The task's id, the same whichever Core asks; taken when it has none yet.

        Args:
            uid: of the task's incarnation.
            configured: `source.server_id`; None: the next free one from `derived` on.

        Raises:
            ProcessError: E2207, the configured id is another task's.
            NotConnected.
        """
        if configured is not None:
            holder = self._take(configured, task, uid)
            if holder != task:
                raise ProcessError(
                    "E2207",
                    f"task '{holder}' reads with this replica id already",
                    found=f"source.server_id = {configured}",
                    wanted="an id that no other reader of the server has",
                    fix="Leave `source.server_id` out, or choose another one.",
                )
            return configured
        number = derived(task)
        for _ in range(_TRIES):
            if self._take(number, task, uid) == task:
                return number
            number = number + 1 if number < _HIGHEST else 1 << 31
        raise ProcessError("E5011", f"no free replica id for '{task}'")

    def release(self, task: str) -> None:
        """Of a task that is deleted. Ids that it had under other configurations go as well."""
        for name in self._names():
            path = f"{self._layout.replica_ids}/{name}"
            with contextlib.suppress(NodeMissing):
                if self._holder(path) == task:
                    self._coordinator.delete(path)

    def _take(self, number: int, task: str, uid: str) -> str:
        """The task that has it now."""
        path = self._layout.replica_id(number)
        try:
            self._coordinator.create(path, dump(ReplicaIdRecord(task=task, uid=uid)))
        except NodeExists:
            with contextlib.suppress(NodeMissing):
                return self._holder(path)
            return self._take(number, task, uid)
        return task

    def _holder(self, path: str) -> str:
        """What nobody understands is somebody else's."""
        try:
            return load(ReplicaIdRecord, self._coordinator.get(path).data, path).task
        except NodeMissing:
            raise
        except CoordinationError as error:
            if error.transient:
                raise
            return ""

    def _names(self) -> list[str]:
        try:
            return self._coordinator.children(self._layout.replica_ids)
        except NodeMissing:
            return []
