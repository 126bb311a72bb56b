"""The list of outgoing addresses of the cluster: znode /outgoing, which every Core and Server obeys.

Without a list the node is missing, or its `entries` are None: a list that was removed leaves the node, so that versions
go on rising and If-Match never meets another list with the same number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from replicator.coordination.clock import now_ms
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator, Watcher
from replicator.coordination.records import OutgoingRecord, dump, load
from replicator.errors import CoordinationError, NodeExists, NodeMissing, VersionConflict

NEVER: int = -1
"""Version of a list that nobody has ever written."""


class Found(NamedTuple):
    record: OutgoingRecord
    version: int


class OutgoingList:
    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self._coordinator = coordinator
        self._path = layout.outgoing

    def read(self) -> Found:
        """Raises NotConnected; CoordinationError E4009, E4010 for content that is not understood."""
        try:
            node = self._coordinator.get(self._path)
        except NodeMissing:
            return Found(OutgoingRecord(), NEVER)
        return Found(load(OutgoingRecord, node.data, self._path), node.stat.version)

    def entries(self) -> tuple[str, ...] | None:
        """What processes obey: None: everything is allowed; (): nothing, as nobody understands the list."""
        try:
            return self.read().record.entries
        except CoordinationError as error:
            if error.transient:
                raise
            return ()

    def watch(self, watcher: Watcher | None) -> None:
        """Raises NotConnected."""
        self._coordinator.exists(self._path, watcher)

    def write(self, entries: Sequence[str] | None, by: str, reason: str, version: int | None) -> Found:
        """entries: validated; None: everything is allowed. version: that is replaced, None: whatever is there.

        Raises VersionConflict E4006.
        """
        record = OutgoingRecord(
            entries=None if entries is None else tuple(entries), by=by, time_ms=now_ms(), reason=reason
        )
        data = dump(record)
        try:
            present = self._coordinator.get(self._path).stat.version
        except NodeMissing:
            present = NEVER
        try:
            if version is not None and version != present:
                raise VersionConflict("E4006", "", found=f"version {present}", wanted=str(version))
            if present == NEVER:
                self._coordinator.create(self._path, data, parents=True)
                return Found(record, 0)
            return Found(record, self._coordinator.set(self._path, data, present).version)
        except (VersionConflict, NodeExists, NodeMissing) as error:
            raise VersionConflict(
                "E4006",
                "the list of outgoing addresses was changed by another process",
                found=error.found,
                wanted=error.wanted,
            ) from None
