"""Machines that are expected: one record per host, from its first report, or from an operator's order, until the host
is forgotten or has ended for good.

A machine's own node is ephemeral. Without this record nobody could say that a machine is missing that was never seen by
the process that looks.
"""

from __future__ import annotations

import contextlib

import msgspec

from replicator.coordination.clock import now_ms
from replicator.coordination.layout import Layout, unescape
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import Record, dump, load
from replicator.errors import CoordinationError, NodeExists, NodeMissing, VersionConflict


class ExpectedRecord(Record):
    """/expected/HOST: the machine is missing when it is not there and has not ended on purpose. `learned`: because it
    has reported; else an operator, `by`, has ordered it."""

    learned: bool = False
    by: str = ""
    time_ms: int = 0
    reason: str = ""


class Expectation(msgspec.Struct, frozen=True):
    """`name`: of the machine; `version`: of the record, for If-Match."""

    name: str
    record: ExpectedRecord
    version: int = 0


class ExpectedMachines:
    """Thread-safe: it keeps nothing but the coordinator."""

    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self._coordinator = coordinator
        self._layout = layout

    def learn(self, name: str) -> bool:
        """That a machine reports. What an operator has ordered stays. Returns whether it is new.

        `HOST~xxxx`, the name of a second process of a host, is not learned: no later process has it.
        """
        if "~" in name or self._coordinator.exists(self._layout.expected_machine(name)) is not None:
            return False
        record = ExpectedRecord(learned=True, time_ms=now_ms())
        try:
            self._coordinator.create(self._layout.expected_machine(name), dump(record), parents=True)
        except NodeExists:
            return False
        return True

    def expect(self, name: str, by: str, reason: str, version: int | None = None) -> Expectation:
        """An operator's order: it also replaces what was learned.

        Raises VersionConflict E4006 where `version` is not the present one, also where there is none.
        """
        path = self._layout.expected_machine(name)
        data = dump(ExpectedRecord(by=by, time_ms=now_ms(), reason=reason))
        while True:
            try:
                stat = self._coordinator.set(path, data, -1 if version is None else version)
                return self._present(name, stat.version)
            except NodeMissing:
                if version is not None:
                    raise VersionConflict(
                        "E4006", f"'{name}' is not expected any more", wanted=f"version {version}"
                    ) from None
            with contextlib.suppress(NodeExists):
                self._coordinator.create(path, data, parents=True)
                return self._present(name, 0)

    def _present(self, name: str, version: int) -> Expectation:
        found = self.read(name)
        return found if found is not None else Expectation(name, ExpectedRecord(), version)

    def forget(self, name: str, version: int | None = None) -> bool:
        """False when it was not expected. Raises VersionConflict E4006."""
        try:
            self._coordinator.delete(self._layout.expected_machine(name), -1 if version is None else version)
        except NodeMissing:
            return False
        return True

    def read(self, name: str) -> Expectation | None:
        path = self._layout.expected_machine(name)
        try:
            node = self._coordinator.get(path)
        except NodeMissing:
            return None
        return Expectation(name, _record(node.data, path), node.stat.version)

    def list(self) -> dict[str, Expectation]:
        """By name. One whose record can't be read is expected all the same."""
        try:
            children = self._coordinator.children(self._layout.expected)
        except NodeMissing:
            return {}
        paths = [f"{self._layout.expected}/{child}" for child in children]
        found = {}
        for child, path, node in zip(children, paths, self._coordinator.get_many(paths) if paths else [], strict=True):
            if node is not None:
                name = unescape(child)
                found[name] = Expectation(name, _record(node.data, path), node.stat.version)
        return found


def _record(data: bytes, path: str) -> ExpectedRecord:
    try:
        return load(ExpectedRecord, data, path)
    except CoordinationError:
        return ExpectedRecord()
