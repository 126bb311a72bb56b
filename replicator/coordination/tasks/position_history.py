"""The position history of a task: a checkpoint per minute for a day and per hour for a month."""

from __future__ import annotations

import contextlib
from typing import Final

from replicator.coordination.layout import Layout
from replicator.coordination.ports import Check, Coordinator, Create, Op, Set
from replicator.coordination.records import PositionHistoryRecord, dump, load
from replicator.errors import CoordinationError, NodeExists, NodeMissing
from replicator.model.checkpoint import Checkpoint

MINUTE_MS: Final = 60_000
HOUR_MS: Final = 3_600_000
FINE_HOURS: Final = 24
KEPT_HOURS: Final = 31 * 24
MOST_BYTES: Final = 400_000
"""Of an hour's node; with GTID sets so long that they don't fit, earlier points of the hour are dropped."""


_MOST_TOGETHER: Final = 100_000
"""Bytes of a node that is written together with a checkpoint."""


class PositionHistory:
    """Written by RUNNING alone, together with a check of its election znode."""

    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self._coordinator = coordinator
        self._layout = layout

    def add(self, task: str, own: str, checkpoint: Checkpoint) -> bool:
        """Notes `checkpoint` unless the last point is less than a minute old. Old points go when an hour begins.

        Args:
            own: name of our contender node.

        Raises:
            NodeMissing: our own node is gone, or the task.
            CoordinationError: VersionConflict when two write at once; what the coordinator refuses.
            NotConnected.
        """
        hour = checkpoint.time_ms // HOUR_MS
        path = self._layout.position_history_hour(task, hour)
        try:
            node = self._coordinator.get(path)
        except NodeMissing:
            return self._begin_hour(task, own, hour, checkpoint)
        points = self._points(path, node.data)
        if points and checkpoint.time_ms - points[-1].time_ms < MINUTE_MS:
            return False
        self._write(task, own, Set(path, _fitting([*points, checkpoint]), node.stat.version))
        return True

    def next_point(self, task: str, checkpoint: Checkpoint) -> tuple[Op, ...]:
        """What `add` writes, to be written together with something else; () where there is nothing to write, or it is
        too large, or an hour begins."""
        path = self._layout.position_history_hour(task, checkpoint.time_ms // HOUR_MS)
        try:
            node = self._coordinator.get(path)
        except NodeMissing:
            return ()
        points = self._points(path, node.data)
        if points and checkpoint.time_ms - points[-1].time_ms < MINUTE_MS:
            return ()
        data = _fitting([*points, checkpoint])
        return (Set(path, data, node.stat.version),) if len(data) <= _MOST_TOGETHER else ()

    def read(self, task: str) -> list[Checkpoint]:
        """All points, oldest first."""
        points: list[Checkpoint] = []
        paths = [f"{self._layout.position_history(task)}/{name}" for name in self._hours(task)]
        for path, node in zip(paths, self._coordinator.get_many(paths), strict=True):
            if node is not None:
                points += self._points(path, node.data)
        return points

    def at(self, task: str, time_ms: int) -> Checkpoint | None:
        """The last point at or before a moment, ms since the epoch; None when all are later."""
        found = [point for point in self.read(task) if point.time_ms <= time_ms]
        return found[-1] if found else None

    def _begin_hour(self, task: str, own: str, hour: int, checkpoint: Checkpoint) -> bool:
        with contextlib.suppress(NodeExists):
            self._write(task, own, Create(self._layout.position_history(task)))
        self._write(task, own, Create(self._layout.position_history_hour(task, hour), _fitting([checkpoint])))
        self._thin(task, hour)
        return True

    def _write(self, task: str, own: str, change: Op) -> None:
        self._coordinator.multi([Check(self._layout.contender(task, own)), change])

    def _thin(self, task: str, now: int) -> None:
        """Of the hour that has just left the last day only its last point stays; what is over a month old goes."""
        for name in self._hours(task):
            path = f"{self._layout.position_history(task)}/{name}"
            age = now - int(name)
            with contextlib.suppress(NodeMissing):
                if age >= KEPT_HOURS:
                    self._coordinator.delete(path)
                elif FINE_HOURS <= age < 2 * FINE_HOURS:
                    node = self._coordinator.get(path)
                    points = self._points(path, node.data)
                    if len(points) > 1:
                        self._coordinator.set(path, _fitting(points[-1:]), node.stat.version)

    def _hours(self, task: str) -> list[str]:
        try:
            names = self._coordinator.children(self._layout.position_history(task))
        except NodeMissing:
            return []
        return sorted(name for name in names if name.isascii() and name.isdigit())

    def _points(self, path: str, data: bytes) -> list[Checkpoint]:
        """What nobody understands is no point to go back to."""
        try:
            return load(PositionHistoryRecord, data, path).points
        except CoordinationError:
            return []


def _fitting(points: list[Checkpoint]) -> bytes:
    while True:
        data = dump(PositionHistoryRecord(points=points))
        if len(data) <= MOST_BYTES or not points:
            return data
        points = points[len(points) // 2 + len(points) % 2 :]
