"""Removes a deleted task: atomic in effect, whatever the number of its znodes.

The status "deleted" is final (`status.Status.set`). A marker below the task, named after the czxid of the task's node,
guards every step, so that nothing is ever taken from a task that was created again under the name; versions would not
do, as they begin at 0 again. Bulk below the task goes first, in transactions of bounded size. The last transaction
removes the status, lastCommit, the election parent and the task's node together, and fails while anybody stands.
Whoever sees a task with this status continues. A deletion with `purge` writes in the last transaction that what the
task left at its sink does not count (`purged`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final

from replicator.coordination.ids import ReplicaIds
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Check, Coordinator, Delete, Node, Op
from replicator.coordination.records import CommitRecord, StatusRecord, TaskRecord, load
from replicator.coordination.tasks.purged import Purged
from replicator.errors import CoordinationError, NodeExists, NodeMissing, ProcessError, VersionConflict

MOST: Final = 200
"""Deletions in one transaction: some 20 kB. ZooKeeper drops the connection of a request over 1 MB."""
_ROUNDS: Final = 20


class Removal:
    """One attempt to remove a task."""

    def __init__(self, coordinator: Coordinator, layout: Layout, task: str) -> None:
        self._coordinator = coordinator
        self._layout = layout
        self._task = task
        self._path = layout.task(task)
        self._deep = False
        """Look for nodes below those that we know to have none: made by hand."""

    def run(self) -> bool:
        """True when the task was removed; False when there is none to remove.

        Raises:
            ProcessError: E5007, somebody stands for it.
            NotConnected: call again.
        """
        for _ in range(_ROUNDS):
            if not self.is_deleted():
                return False
            if self._is_stood_for():
                raise ProcessError(
                    "E5007",
                    f"task '{self._task}' has contenders",
                    fix="Stop the Cores that still run the task (`replicator task describe NAME` lists them), or "
                    "wait until they have left it.",
                )
            try:
                node = self._coordinator.get(self._path)
                if not self.is_deleted():
                    continue
                self._remove(self._mark(node), self._purging(node))
            except (NodeMissing, VersionConflict):
                continue  # another process removes it too
            except NodeExists:
                self._deep = True  # or a late write
                continue
            self._release_ids(node)
            return True
        raise ProcessError(
            "E5007",
            f"'{self._task}' was written to during each attempt to delete it",
            fix="None required: the process retries.",
        )

    def is_deleted(self) -> bool:
        path = self._layout.status(self._task)
        status = self._get(path)
        if status is None:
            task = self._get(self._path)
            return task is not None and is_remains(task.data, has_status=False)
        try:
            return load(StatusRecord, status.data, path).desired == "deleted"
        except CoordinationError:
            return False

    def _get(self, path: str) -> Node | None:
        try:
            return self._coordinator.get(path)
        except NodeMissing:
            return None

    def _is_stood_for(self) -> bool:
        """An election parent that was deleted by hand has nobody."""
        try:
            return bool(self._coordinator.children(self._layout.election(self._task)))
        except NodeMissing:
            return False

    def _mark(self, node: Node) -> str:
        """The marker of this incarnation: `node`, which was read before the status was. Raises NodeMissing when the
        task is another one by now."""
        path = self._layout.removal(self._task, node.stat.czxid)
        with contextlib.suppress(NodeExists):
            self._coordinator.create(path)
        stat = self._coordinator.exists(self._path)
        if stat is None or stat.czxid != node.stat.czxid:
            with contextlib.suppress(NodeMissing):
                self._coordinator.delete(path)
            raise NodeMissing(
                "E4004",
                f"'{self._task}' was created again",
                fix="None required: the task that was to be deleted is gone.",
            )
        return path

    def _purging(self, node: Node) -> list[Op]:
        """What the last transaction does besides, at the status that it was read from: an order to purge that comes
        later is not missed."""
        path = self._layout.status(self._task)
        status = self._get(path)
        if status is None:
            return []
        as_read: list[Op] = [Check(path, status.stat.version)]
        try:
            wanted = load(StatusRecord, status.data, path)
        except CoordinationError:
            return as_read
        uid = self._uid(node)
        if uid and (wanted.purge or self._get(self._layout.last_commit(self._task)) is not None):
            purged = Purged(self._coordinator, self._layout)  # a lost connection here must not omit the entry
            return [*as_read, purged.adding(self._task, uid, wanted.by, purge=wanted.purge)]
        return as_read

    def _uid(self, node: Node) -> str:
        """The progress of the task knows it where its configuration is damaged. "": the task has none."""
        path = self._layout.last_commit(self._task)
        with contextlib.suppress(CoordinationError):
            return load(TaskRecord, node.data, self._path).uid
        commit = self._get(path)
        return load(CommitRecord, commit.data, path).uid if commit is not None else ""

    def _remove(self, marker: str, purging: list[Op]) -> None:
        """The marker is deleted by the last transaction, which fails without it."""
        depth = self._path.count("/") + 1
        below = list(self._below())
        first = [path for path in below if path.count("/") > depth]
        for at in range(0, len(first), MOST):
            self._coordinator.multi([Check(marker), *(Delete(path) for path in first[at : at + MOST])])
        last = [path for path in below if path.count("/") == depth and path != marker]
        self._coordinator.multi([Delete(marker), *purging, *(Delete(path) for path in last), Delete(self._path)])

    def _below(self) -> Iterator[str]:
        """Every node below the task's, children before their parents. Those who stand are left out, so that the last
        transaction fails with them."""
        election = self._layout.election(self._task)
        for name in self._coordinator.children(self._path):
            child = f"{self._path}/{name}"
            if child != election:
                yield from self._descend(child)
            yield child

    def _descend(self, path: str) -> Iterator[str]:
        for name in self._coordinator.children(path):
            child = f"{path}/{name}"
            if self._deep:
                yield from self._descend(child)
            yield child

    def _release_ids(self, node: Node) -> None:
        """After the removal: an id that stays behind is taken over by whoever needs it (`ids.ReplicaIds`)."""
        with contextlib.suppress(CoordinationError):
            uid = load(TaskRecord, node.data, self._path).uid
            ReplicaIds(self._coordinator, self._layout).release(self._task, uid)


def is_remains(data: bytes, has_status: bool) -> bool:
    """Whether a task's node is what a late write brought back after a deletion (earlier versions did that). A task is
    created with content, and in one transaction with its status."""
    return not data and not has_status
