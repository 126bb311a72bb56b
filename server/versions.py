"""Versions of a task's configuration: lists, compares and restores them."""

from __future__ import annotations

import contextlib
from typing import Any

from replicator.config.canonical import difference
from replicator.config.load import parse_task
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import VersionRecord
from replicator.coordination.tasks.registry import Registry
from replicator.coordination.tasks.versions import Versions, unrecorded
from replicator.errors import CoordinationError, NodeMissing, ProcessError
from server.sealing import Sealing
from server.task_operations import TaskOperations


class VersionOperations:
    """Thread-safe. Every method raises NodeMissing E5003 for a task that is not there, NotConnected."""

    def __init__(self, coordinator: Coordinator, layout: Layout, operations: TaskOperations) -> None:
        self._versions = Versions(coordinator, layout)
        self._registry = Registry(coordinator, layout)
        self._operations = operations
        self._sealing = Sealing(operations.installation)

    def list(self, name: str) -> tuple[int, list[VersionRecord]]:
        """The number of the present version, and all that are kept, oldest first. The present one is among them, even
        if a Server of an earlier release has written it without a record."""
        present = self._registry.version(name)
        kept = self._versions.read(name)
        if all(record.number != present for record in kept):
            with contextlib.suppress(CoordinationError):  # damaged, or changed meanwhile
                node = self._registry.read(name)
                if node.record.config is not None and node.version == present:
                    kept.append(unrecorded(present, node.record))
        return present, kept

    def read(self, name: str, number: int) -> VersionRecord:
        """Raises ProcessError E5090."""
        self._registry.version(name)
        return self._versions.get(name, number)

    def compare(self, name: str, before: int | None, after: int | None) -> tuple[int, int, str]:
        """The numbers and the difference. `after` None: the present version; `before` None: the one in front of it.

        Raises ProcessError E5090.
        """
        present, kept = self.list(name)
        numbers = [record.number for record in kept]
        last = after if after is not None else present
        earlier = [number for number in numbers if number < last]
        if before is None and not earlier:
            listed = ", ".join(map(str, numbers)) or "none"
            raise ProcessError("E5090", f"task '{name}' has no version before {last}", found=f"kept: {listed}")
        first = before if before is not None else earlier[-1]
        found = {record.number: record for record in kept}
        old = found.get(first) or self._versions.get(name, first)
        new = found.get(last) or self._versions.get(name, last)
        return first, last, difference(old.config, new.config, (f"{name} version {first}", f"{name} version {last}"))

    def restore(
        self, name: str, number: int, by: str, version: int | None, dry_run: bool, reason: str
    ) -> tuple[int, str]:
        """A replacement of the configuration with all its checks. Returns the number that was replaced and the
        difference, "" where nothing changes. `version`: see `TaskOperations.replace`.

        Raises ProcessError E5090, and what `TaskOperations.replace` raises; ConfigError where this release does not
        accept the configuration any more, or E1040, E1041 for a sealed secret that can't be opened any more.
        """
        present, before = self._present(name)
        record = self._versions.get(name, number)
        earlier = self._sealing.restored(record.config, before)
        config = parse_task(earlier)
        wanted = present if version is None else version
        self._operations.replace(name, config, by, wanted, dry_run, reason, restores=number)
        names = (f"{name} version {present}", f"{name} version {number}")
        return present, difference(before, earlier, names)

    def _present(self, name: str) -> tuple[int, dict[str, Any]]:
        """The number and the configuration, {} for one that is damaged: a rollback mends it."""
        try:
            node = self._registry.read(name)
        except NodeMissing:
            raise
        except CoordinationError as error:
            if error.transient:
                raise
            return self._registry.version(name), {}
        return node.version, node.record.config or {}
