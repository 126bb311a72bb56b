"""What ZooKeeper has of one task and only its pages show: read when a page asks for it, once for all browsers."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from monitor.shared_reads import Read, SharedReads
from monitor.task_pages.ddl import Statement, Statements
from monitor.view import TaskRow
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import VersionRecord
from replicator.coordination.tasks.checks import TaskCheckResults
from replicator.coordination.tasks.commits import Commits
from replicator.coordination.tasks.history import Entry, History
from replicator.coordination.tasks.position_history import PositionHistory
from replicator.coordination.tasks.registry import Registry
from replicator.coordination.tasks.versions import Versions, unrecorded
from replicator.errors import NodeMissing
from replicator.model.checkpoint import Checkpoint
from replicator.model.task_check import TaskCheck

_MOST: Final = 48
"""Values of all tasks; the largest, all versions of a configuration, is 4 MB."""
_HISTORY_S: Final = 1.0
_TRAIL_S: Final = 10.0
"""It has up to 770 nodes, and a point a minute."""
_CHECK_S: Final = 1.0
_STATEMENTS_S: Final = 5.0
_MOST_STATEMENTS: Final = 30
"""Tasks whose statements are remembered."""
_VERSIONS_S: Final = 2.0


class TaskNodes:
    """Keys contain the incarnation of the task: one that is created again under its name shows nothing of the other."""

    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self._coordinator, self._layout = coordinator, layout
        self._statements: OrderedDict[tuple[str, str], Statements] = OrderedDict()
        self._history = History(coordinator, layout)
        self._trail = PositionHistory(coordinator, layout)
        self._versions = Versions(coordinator, layout)
        self._checks = TaskCheckResults(coordinator, layout)
        self._commits = Commits(coordinator, layout)
        self._registry = Registry(coordinator, layout)
        self.reads = SharedReads(_MOST)

    async def history(self, task: TaskRow) -> Read[Sequence[Entry]]:
        """All entries that ZooKeeper has, oldest first."""
        return await self.reads.get(("history", task.name, task.uid), lambda: self._history.read(task.name), _HISTORY_S)

    async def trail(self, task: TaskRow) -> Read[Sequence[Checkpoint]]:
        """Checkpoints, oldest first."""
        return await self.reads.get(("positions", task.name, task.uid), lambda: self._trail.read(task.name), _TRAIL_S)

    async def versions(self, task: TaskRow) -> Read[Sequence[VersionRecord]]:
        """Of the present incarnation, oldest first."""

        def read() -> Sequence[VersionRecord]:
            kept = [version for version in self._versions.read(task.name) if version.uid in ("", task.uid)]
            if all(version.number != task.config_version for version in kept):
                with contextlib.suppress(NodeMissing):  # a Server of an earlier release wrote it, without a record
                    node = self._registry.read(task.name)
                    if node.record.config is not None and node.record.uid == task.uid:
                        kept.append(unrecorded(node.version, node.record))
            return kept

        return await self.reads.get(("versions", task.name, task.uid, task.config_version), read, _VERSIONS_S)

    async def checkpoint(self, task: TaskRow) -> Read[Checkpoint | None]:
        """The last one; None before the first one."""

        def read() -> Checkpoint | None:
            record = self._commits.read(task.name).record
            return record.checkpoint if record is not None and record.uid in ("", task.uid) else None

        return await self.reads.get(("commit", task.name, task.uid), read, _CHECK_S)

    async def check(self, task: TaskRow) -> Read[TaskCheck | None]:
        """What its Core has found last; None before the first check."""
        key = "check", task.name, task.uid
        return await self.reads.get(key, lambda: self._checks.read(task.name, task.uid), _CHECK_S)

    async def statements(self, task: TaskRow) -> Read[Sequence[Statement]]:
        """That changed its tables, oldest first."""
        key = task.name, task.uid
        source = self._statements.setdefault(key, Statements(self._coordinator, self._layout, task.name))
        self._statements.move_to_end(key)
        while len(self._statements) > _MOST_STATEMENTS:
            self._statements.popitem(last=False)
        return await self.reads.get(("statements", *key), source.read, _STATEMENTS_S)

    def close(self) -> None:
        self.reads.close()
