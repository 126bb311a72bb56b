"""Hosts whose Cores are to hand over all their tasks and take no others, until operators end that."""

from __future__ import annotations

import contextlib
from collections.abc import Collection

from replicator.coordination.clock import now_ms
from replicator.coordination.layout import Layout, unescape
from replicator.coordination.ports import Coordinator, Watcher
from replicator.coordination.records import DrainRecord, dump, load
from replicator.errors import CoordinationError, NodeExists, NodeMissing


def is_drained(name: str, hosts: Collection[str]) -> bool:
    """`name`: of a Core; a second one of a host is HOST~xxxx."""
    return name in hosts or name.partition("~")[0] in hosts


class Drained:
    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self._coordinator, self._layout = coordinator, layout

    def begin(self, host: str, by: str, reason: str) -> bool:
        """False when it was drained already."""
        data = dump(DrainRecord(by=by, time_ms=now_ms(), reason=reason))
        try:
            self._coordinator.create(self._layout.drained_host(host), data, parents=True)
        except NodeExists:
            return False
        return True

    def end(self, host: str) -> bool:
        """False when it was not drained."""
        try:
            self._coordinator.delete(self._layout.drained_host(host))
        except NodeMissing:
            return False
        return True

    def hosts(self, watch: Watcher | None = None) -> frozenset[str]:
        """Raises NodeMissing where no host was ever drained, and `watch` is not set."""
        return frozenset(unescape(child) for child in self._coordinator.children(self._layout.drained, watch))

    def list(self) -> dict[str, DrainRecord]:
        """One that can't be read counts as drained all the same."""
        found: dict[str, DrainRecord] = {}
        with contextlib.suppress(NodeMissing):
            for host in sorted(self.hosts()):
                found[host] = self._read(host)
        return found

    def _read(self, host: str) -> DrainRecord:
        path = self._layout.drained_host(host)
        try:
            return load(DrainRecord, self._coordinator.get(path).data, path)
        except CoordinationError as error:
            if error.transient:
                raise
            return DrainRecord()
