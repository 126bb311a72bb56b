"""Allocates replica ids, unique per task in the whole cluster.

A source throws out the reader that was there when another one comes with its id. For instances of one task that is what
we want: the old leader's stream ends when the new one's begins. For two tasks it would be a war without end.
"""

from __future__ import annotations

import contextlib
from typing import Final

from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import ReplicaIdRecord, TaskRecord, dump, load
from replicator.errors import CoordinationError, NodeExists, NodeMissing, ProcessError, VersionConflict
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
                    f"task '{holder}' already uses this replica id",
                    found=f"source.server_id = {configured}",
                    wanted="an id that no other replica of the server uses",
                    fix="Remove `source.server_id`, or choose another value.",
                )
            return configured
        number = derived(task)
        for _ in range(_TRIES):
            if self._take(number, task, uid) == task:
                return number
            number = number + 1 if number < _HIGHEST else 1 << 31
        raise ProcessError(
            "E5011",
            f"there is no free replica id for '{task}'",
            fix="Set `source.server_id` to an id that no other replica of the server uses.",
        )

    def release(self, task: str, uid: str) -> None:
        """Of an incarnation that is deleted. Ids that it had under other configurations go as well; those of a task
        that was created again under the name stay."""
        for name in self._names():
            path = f"{self._layout.replica_ids}/{name}"
            with contextlib.suppress(NodeMissing, VersionConflict):
                holder, version = self._holder(path)
                if holder is not None and (holder.task, holder.uid) == (task, uid):
                    self._coordinator.delete(path, version)

    def _take(self, number: int, task: str, uid: str) -> str:
        """The task that has it now. Read first: at a take-over the task has it already, and a refused write costs
        ZooKeeper as much as any other."""
        path = self._layout.replica_id(number)
        while True:
            with contextlib.suppress(NodeMissing, VersionConflict):
                return self._taken(path, task, uid)
            with contextlib.suppress(NodeExists):
                self._coordinator.create(path, dump(ReplicaIdRecord(task=task, uid=uid)), parents=True)
                return task

    def _taken(self, path: str, task: str, uid: str) -> str:
        """The holder of an id that is taken. What a deleted task left behind is taken over."""
        holder, version = self._holder(path)
        if holder is None:
            return ""
        if (holder.task, holder.uid) != (task, uid) and (holder.task == task or self._is_deleted(holder)):
            self._coordinator.set(path, dump(ReplicaIdRecord(task=task, uid=uid)), version)
            return task
        return holder.task

    def _is_deleted(self, holder: ReplicaIdRecord) -> bool:
        """No task of the holder's name and incarnation is there. One that can't be read counts as there."""
        path = self._layout.task(holder.task)
        try:
            return load(TaskRecord, self._coordinator.get(path).data, path).uid != holder.uid
        except NodeMissing:
            return True
        except CoordinationError as error:
            if error.transient:
                raise
            return False

    def _holder(self, path: str) -> tuple[ReplicaIdRecord | None, int]:
        """With the node's version. None: content that can't be read, which is another task's."""
        node = self._coordinator.get(path)
        try:
            return load(ReplicaIdRecord, node.data, path), node.stat.version
        except CoordinationError:
            return None, node.stat.version

    def _names(self) -> list[str]:
        try:
            return self._coordinator.children(self._layout.replica_ids)
        except NodeMissing:
            return []
