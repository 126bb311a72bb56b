"""Parts of a support bundle that ZooKeeper has: tasks, machines, sizes of znodes."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from replicator.cli.bundle.parts import ProcessLine
from replicator.coordination.layout import Layout
from replicator.coordination.logs.collector import LogCollector
from replicator.coordination.logs.processes import processes
from replicator.coordination.overview import Overview
from replicator.coordination.ports import Coordinator
from replicator.coordination.tasks.history import History
from replicator.coordination.tasks.position_history import PositionHistory
from replicator.coordination.tasks.registry import Registry
from replicator.errors import NodeMissing

_MOST_NODES: Final = 20_000
_MOST_POINTS: Final = 200


class TreeParts:
    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self._coordinator = coordinator
        self._layout = layout
        self._overview = Overview(coordinator, layout)

    def names(self) -> list[str]:
        try:
            children = self._coordinator.children(self._layout.tasks)
        except NodeMissing:
            return []
        return [self._layout.task_name(child) for child in children if self._layout.is_task(child)]

    def machines(self) -> Any:
        return _plain(self._overview.machines())

    def task(self, name: str) -> Any:
        return _plain(self._overview.task(name))

    def configuration(self, name: str) -> Any:
        return Registry(self._coordinator, self._layout).read(name).record.config

    def history(self, name: str) -> Any:
        return _plain(History(self._coordinator, self._layout).read(name))

    def positions(self, name: str) -> Any:
        return _plain(PositionHistory(self._coordinator, self._layout).read(name)[-_MOST_POINTS:])

    def processes(self) -> list[ProcessLine]:
        found = processes(self._coordinator, self._layout)
        return [ProcessLine(one.kind, one.name, one.pid, one.id) for one in found]

    def lines(self, ids: Sequence[str]) -> dict[str, str]:
        return LogCollector(self._coordinator, self._layout).collect(ids, "replicator bundle")

    def sizes(self) -> str:
        """A line per znode: bytes, children, version, whether it is of a session, path."""
        lines, level = ["bytes\tchildren\tversion\tephemeral\tpath"], deque([self._layout.root])
        while level and len(lines) <= _MOST_NODES:
            paths = [level.popleft() for _ in range(min(len(level), 100))]
            for path, node in zip(paths, self._coordinator.get_many(paths), strict=True):
                if node is None:
                    continue
                stat = node.stat
                lines.append(f"{len(node.data)}\t{stat.children}\t{stat.version}\t{int(bool(stat.owner))}\t{path}")
                if stat.children:
                    level.extend(self._below(path))
        if level:
            lines.append(f"(the first {_MOST_NODES} of more)")
        return "\n".join(lines) + "\n"

    def _below(self, path: str) -> list[str]:
        try:
            return [f"{path}/{name}" for name in self._coordinator.children(path)]
        except NodeMissing:
            return []


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value)
