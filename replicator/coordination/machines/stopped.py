"""Which Cores have ended on purpose: one record per host, from the end of a Core until it starts again.

The machine's own node is ephemeral and goes in either case. Without such a record, a Core that is not there has failed.
"""

from __future__ import annotations

import contextlib

from replicator.coordination.clock import now_ms
from replicator.coordination.layout import Layout, unescape
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import StoppedRecord, dump, load
from replicator.errors import CoordinationError, NodeExists, NodeMissing

KEEP_MS = 8 * 24 * 3600 * 1000
"""A Core that ends removes older records of others: hosts that never come back."""


class StoppedCores:
    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self._coordinator = coordinator
        self._layout = layout

    def record(self, name: str, process: str) -> None:
        """`name`: of the machine's node."""
        path, data = self._layout.stopped_core(name), dump(StoppedRecord(process=process, time_ms=now_ms()))
        try:
            self._coordinator.create(path, data, parents=True)
        except NodeExists:
            self._coordinator.set(path, data)
        for other, record in self.list().items():
            if record.time_ms < now_ms() - KEEP_MS:
                self.forget(other)

    def forget(self, name: str) -> None:
        with contextlib.suppress(NodeMissing):
            self._coordinator.delete(self._layout.stopped_core(name))

    def list(self) -> dict[str, StoppedRecord]:
        """By the name of the machine's node. What can't be read is left out."""
        try:
            children = self._coordinator.children(self._layout.stopped)
        except NodeMissing:
            return {}
        paths = [f"{self._layout.stopped}/{child}" for child in children]
        found = {}
        for child, path, node in zip(children, paths, self._coordinator.get_many(paths) if paths else [], strict=True):
            with contextlib.suppress(CoordinationError):
                if node is not None:
                    found[unescape(child)] = load(StoppedRecord, node.data, path)
        return found
