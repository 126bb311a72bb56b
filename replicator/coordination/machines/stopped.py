"""Which Cores and agents have ended on purpose: one record per host, from the end of the process until it starts again.

The machine's own node is ephemeral and goes in either case. Without such a record, a Core that is not there has failed.
"""

from __future__ import annotations

import contextlib

from replicator.coordination.clock import now_ms
from replicator.coordination.layout import Layout, escape, unescape
from replicator.coordination.machines.expected import ExpectedMachines
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import StoppedRecord, dump, load
from replicator.errors import CoordinationError, NodeExists, NodeMissing

KEEP_MS = 8 * 24 * 3600 * 1000
"""A Core that ends removes older records: of hosts that never come back. They are not expected any more then,
unless an operator has ordered that."""


class StoppedCores:
    """`agents`: those of agents instead."""

    def __init__(self, coordinator: Coordinator, layout: Layout, *, agents: bool = False) -> None:
        self._coordinator = coordinator
        self._layout = layout
        self._parent = layout.stopped_agents if agents else layout.stopped

    def _path(self, name: str) -> str:
        return f"{self._parent}/{escape(name)}"

    def record(self, name: str, process: str) -> None:
        """`name`: of the machine's node."""
        path, data = self._path(name), dump(StoppedRecord(process=process, time_ms=now_ms()))
        try:
            self._coordinator.create(path, data, parents=True)
        except NodeExists:
            self._coordinator.set(path, data)

    def remove_old(self) -> None:
        """Of hosts that never come back. What is expected goes first: a host without either record does not look as if
        it had failed."""
        old = [other for other, record in self.list().items() if record.time_ms < now_ms() - KEEP_MS]
        expected = ExpectedMachines(self._coordinator, self._layout)
        for other in old:
            expectation = expected.read(other)
            if expectation is None or expectation.record.learned:
                if expectation is not None:
                    expected.forget(other, expectation.version)
                self.forget(other)

    def forget(self, name: str) -> None:
        with contextlib.suppress(NodeMissing):
            self._coordinator.delete(self._path(name))

    def list(self) -> dict[str, StoppedRecord]:
        """By the name of the machine's node. What can't be read is left out."""
        try:
            children = self._coordinator.children(self._parent)
        except NodeMissing:
            return {}
        paths = [f"{self._parent}/{child}" for child in children]
        found = {}
        for child, path, node in zip(children, paths, self._coordinator.get_many(paths) if paths else [], strict=True):
            with contextlib.suppress(CoordinationError):
                if node is not None:
                    found[unescape(child)] = load(StoppedRecord, node.data, path)
        return found
