"""The checkpoints that a task had: how far it was when, and the commands that go back there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from monitor.formatting import iso
from monitor.task_pages.tab import Asked
from monitor.task_pages.task_nodes import TaskNodes
from replicator.coordination.tasks.position_history import MINUTE_MS
from replicator.errors import ProcessError
from replicator.model.checkpoint import Checkpoint

PAGE: Final = 60
_LATE_MS: Final = 3 * MINUTE_MS


class Point(msgspec.Struct, frozen=True):
    """A checkpoint. rows: delivered since the task was created; added: since the point before it, -1 where that is not
    known; after_ms: since the point before it."""

    time_ms: int
    position: str
    gtid: str
    epoch: int
    rows: int
    transactions: int
    added: int
    after_ms: int

    @property
    def late(self) -> bool:
        """Longer after the one before it than a task that delivers lets pass, where points are a minute apart."""
        return _LATE_MS < self.after_ms < 59 * MINUTE_MS


class Checkpoints(msgspec.Struct, frozen=True, kw_only=True):
    """The newest first.

    Attributes:
        points: of this page; chosen: the one that commands are for, None without any.
        at: what the commands call it; page: 1 is the newest; pages: that there are; total: number of points.
    """

    points: tuple[Point, ...]
    chosen: Point | None
    at: str
    page: int
    pages: int
    total: int
    oldest_ms: int
    read_ms: int
    error: dict[str, str] | None


class CheckpointsTab:
    key, title, every_s = "checkpoints", "Checkpoints", 10.0

    def __init__(self, nodes: TaskNodes) -> None:
        self._nodes = nodes

    async def content(self, asked: Asked) -> Checkpoints:
        page, at = _number(asked.query.get("page", "1"), "page"), _number(asked.query.get("at", "0"), "at")
        read = await self._nodes.trail(asked.task)
        found = points(read.value or ())
        pages = max(-(-len(found) // PAGE), 1)
        page = min(max(page, 1), pages)
        chosen = next((point for point in found if point.time_ms <= at), None) if at else None
        chosen = chosen or (found[0] if found else None)
        return Checkpoints(
            points=found[(page - 1) * PAGE : page * PAGE],
            chosen=chosen,
            at=moment(chosen.time_ms) if chosen else "",
            page=page,
            pages=pages,
            total=len(found),
            oldest_ms=found[-1].time_ms if found else 0,
            read_ms=read.read_ms,
            error=read.error,
        )


def points(trail: Sequence[Checkpoint]) -> tuple[Point, ...]:
    """Of checkpoints, the oldest first; the newest first."""
    found = []
    before: Checkpoint | None = None
    for one in trail:
        added = one.rows - before.rows if before is not None and one.rows >= before.rows else -1
        after_ms = max(one.time_ms - before.time_ms, 0) if before is not None else 0
        position = str(one.position)
        found.append(
            Point(one.time_ms, position, one.position.gtid, one.epoch, one.rows, one.transactions, added, after_ms)
        )
        before = one
    return tuple(reversed(found))


def moment(time_ms: int) -> str:
    """As `--at` takes it: the next full second, as it means the last point at or before a time, and points are a minute
    apart."""
    return iso(-(-time_ms // 1000) * 1000).replace("Z", "+00:00")


def _number(text: str, name: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 15):
        raise ProcessError("E5146", f"{name} is not a number", found=f"{name}={text[:40]}", wanted="a number")
    return int(text)
