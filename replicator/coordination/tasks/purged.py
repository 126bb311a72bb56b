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

import msgspec

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

    def read(self, task: str) -> PurgedRecord:
        """Of this name; an empty one where there is none. Raises CoordinationError E4009, E4010: the task may ignore
        nothing then, and stops with E3109 where its sink has a position of another incarnation."""
        path = self._layout.purged_task(task)
        try:
            return load(PurgedRecord, self._coordinator.get(path).data, path)
        except NodeMissing:
            return PurgedRecord()

    def adding(self, task: str, uid: str, by: str, *, purge: bool = True) -> Op:
        """The operation that adds a deleted incarnation; it fails (NodeExists, VersionConflict) when somebody else adds
        one meanwhile. A damaged record is replaced by one that says so, as nobody can read it again, and a deletion
        must not depend on it.

        Raises CoordinationError E4010: the record of a newer version is not replaced.
        """
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
    changed = msgspec.structs.replace(record, time_ms=now_ms(), by=by)
    if purge:
        changed.uids, changed.left = _last(*record.uids, *record.left, uid), ()
    else:
        changed.left = _last(*record.left, uid)
    return changed


def _last(*uids: str) -> tuple[str, ...]:
    """Each once, the last ones of them."""
    return tuple(dict.fromkeys(uids))[-MOST:]


def _record(data: bytes, path: str) -> PurgedRecord:
    try:
        return load(PurgedRecord, data, path)
    except CoordinationError as error:
        if error.code == "E4010":
            raise
        return PurgedRecord(lost_ms=now_ms())
