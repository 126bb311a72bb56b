"""Tasks that were deleted with their positions: what they have left at their sinks does not count for later tasks of
the name.

Nobody connects to a sink to delete a position: who deletes a task may not reach it, or have its password. The position
stays until a later task of the name replaces it, within its own fenced term. Which incarnations it may ignore is
written in the transaction that removes the task.
"""

from __future__ import annotations

import contextlib
from typing import Final

from replicator.coordination.clock import now_ms
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator, Create, Op, Set
from replicator.coordination.records import PurgedRecord, dump, load
from replicator.errors import CoordinationError, NodeExists, NodeMissing

MOST: Final = 50
"""Incarnations of one name. A sink has the position of the last one that committed; those before it in the list have
committed nothing, or are in it for other sinks."""


class Purged:
    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self._coordinator = coordinator
        self._layout = layout

    def uids(self, task: str) -> frozenset[str]:
        """Of the incarnations of this name that were purged; none where that can't be read: the task stops with E3109
        then."""
        path = self._layout.purged_task(task)
        try:
            return frozenset(_uids(self._coordinator.get(path).data, path))
        except NodeMissing:
            return frozenset()

    def adding(self, task: str, uid: str, by: str) -> Op:
        """The operation that adds an incarnation; it fails (NodeExists, VersionConflict) when somebody else adds one
        meanwhile."""
        path = self._layout.purged_task(task)
        try:
            node = self._coordinator.get(path)
        except NodeMissing:
            self._make_parent()
            return Create(path, dump(PurgedRecord(uids=(uid,), time_ms=now_ms(), by=by)))
        before = [each for each in _uids(node.data, path) if each != uid]
        record = PurgedRecord(uids=(*before[1 - MOST :], uid), time_ms=now_ms(), by=by)
        return Set(path, dump(record), node.stat.version)

    def _make_parent(self) -> None:
        with contextlib.suppress(NodeExists):
            self._coordinator.create(self._layout.purged, parents=True)


def _uids(data: bytes, path: str) -> tuple[str, ...]:
    try:
        return load(PurgedRecord, data, path).uids
    except CoordinationError:
        return ()
