"""Tasks that were deleted with their positions: what they have left at their sinks does not count for later tasks of
the name.

Nobody connects to a sink to delete a position: who deletes a task may not reach it, or have its password. The position
stays until a later task of the name replaces it, within its own fenced term. Which incarnations it may ignore is
written in the transaction that removes the task. A purge covers the incarnations before it as well: what stands at the
sink may be of one that was deleted without.
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
            return frozenset(_record(self._coordinator.get(path).data, path).uids)
        except NodeMissing:
            return frozenset()

    def adding(self, task: str, uid: str, by: str, *, purge: bool = True) -> Op:
        """The operation that adds a deleted incarnation; it fails (NodeExists, VersionConflict) when somebody else adds
        one meanwhile."""
        path = self._layout.purged_task(task)
        try:
            node = self._coordinator.get(path)
        except NodeMissing:
            self._make_parent()
            return Create(path, dump(_with(PurgedRecord(), uid, by, purge=purge)))
        return Set(path, dump(_with(_record(node.data, path), uid, by, purge=purge)), node.stat.version)

    def _make_parent(self) -> None:
        with contextlib.suppress(NodeExists):
            self._coordinator.create(self._layout.purged, parents=True)


def _with(record: PurgedRecord, uid: str, by: str, *, purge: bool) -> PurgedRecord:
    if not purge:
        return PurgedRecord(uids=record.uids, left=_last(*record.left, uid), time_ms=now_ms(), by=by)
    return PurgedRecord(uids=_last(*record.uids, *record.left, uid), time_ms=now_ms(), by=by)


def _last(*uids: str) -> tuple[str, ...]:
    """Each once, the last ones of them."""
    return tuple(dict.fromkeys(uids))[-MOST:]


def _record(data: bytes, path: str) -> PurgedRecord:
    try:
        return load(PurgedRecord, data, path)
    except CoordinationError:
        return PurgedRecord()
