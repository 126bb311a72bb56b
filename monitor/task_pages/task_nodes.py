"""What ZooKeeper has of one task and only its pages show: read when a page asks for it, once for all browsers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from monitor.task_pages.shared_reads import Read, SharedReads
from monitor.view import TaskRow
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import VersionRecord
from replicator.coordination.tasks.history import Entry, History
from replicator.coordination.tasks.position_history import PositionHistory
from replicator.coordination.tasks.versions import Versions
from replicator.model.checkpoint import Checkpoint

_MOST: Final = 48
"""Values of all tasks; the largest, all versions of a configuration, is 4 MB."""
_HISTORY_S: Final = 1.0
_TRAIL_S: Final = 10.0
"""It has up to 770 nodes, and a point a minute."""
_VERSIONS_S: Final = 2.0


class TaskNodes:
    """Keys contain the incarnation of the task: one that is created again under its name shows nothing of the other."""

    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self._history = History(coordinator, layout)
        self._trail = PositionHistory(coordinator, layout)
        self._versions = Versions(coordinator, layout)
        self.reads = SharedReads(_MOST)

    async def history(self, task: TaskRow) -> Read[Sequence[Entry]]:
        """All entries that ZooKeeper has, oldest first."""
        return await self.reads.get(("history", task.name, task.uid), lambda: self._history.read(task.name), _HISTORY_S)

    async def trail(self, task: TaskRow) -> Read[Sequence[Checkpoint]]:
        """Checkpoints, oldest first."""
        return await self.reads.get(("trail", task.name, task.uid), lambda: self._trail.read(task.name), _TRAIL_S)

    async def versions(self, task: TaskRow) -> Read[Sequence[VersionRecord]]:
        """Of the present incarnation, oldest first."""

        def read() -> Sequence[VersionRecord]:
            return [version for version in self._versions.read(task.name) if version.uid in ("", task.uid)]

        return await self.reads.get(("versions", task.name, task.uid), read, _VERSIONS_S)

    def close(self) -> None:
        self.reads.close()
