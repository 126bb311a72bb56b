"""Since when each Core reaches the source and the sink of a task, as this Monitor has seen it. Cores report whether
they do, not since when: that would be a time for each task and side in every report."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from replicator.coordination.overview import TaskOverview


class Reach(msgspec.Struct, frozen=True):
    """since_ms: since when it is so; `seen`: the Monitor saw it begin, otherwise it may be so for longer."""

    reached: bool
    since_ms: int
    seen: bool = False


class Reaches:
    """By task and contender. Fed by the thread that takes snapshots."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], dict[str, Reach]] = {}

    def see(self, tasks: Iterable[TaskOverview], now_ms: int) -> None:
        present: dict[tuple[str, str], dict[str, Reach]] = {}
        for task in tasks:
            for member in task.instances:
                if member.figures is not None and member.figures.reach:
                    key = task.name, member.guid
                    present[key] = _now(self._known.get(key, {}), member.figures.reach, now_ms)
        self._known = present

    def of(self, task: str, guid: str) -> dict[str, Reach]:
        """By "source", "sink" and "registry"; {} of one that has not checked yet."""
        return self._known.get((task, guid), {})


def _now(before: dict[str, Reach], reach: dict[str, bool], now_ms: int) -> dict[str, Reach]:
    if len(before) == len(reach) and all(
        side in before and before[side].reached == reached for side, reached in reach.items()
    ):
        return before
    return {
        side: before[side]
        if side in before and before[side].reached == reached
        else Reach(reached, now_ms, seen=side in before)
        for side, reached in sorted(reach.items(), reverse=True)
    }
