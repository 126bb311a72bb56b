"""Who was RUNNING when, and what happened: lanes, marks, and the table of marks, of any window of time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from monitor.history.steps import SPANS
from monitor.role_changes import Change, changes, latest
from monitor.task_pages.ddl import Statement
from monitor.task_pages.tab import Asked
from monitor.task_pages.task_nodes import TaskNodes
from monitor.task_pages.window import Tick, Window, moved, ticks, window, zoomed
from monitor.timeline import Mark, Timeline, timeline
from monitor.view import TaskRow
from replicator.cli.task import history
from replicator.coordination.tasks.history import KEPT, Entry


class Ways(msgspec.Struct, frozen=True):
    """Windows that links lead to."""

    zoom_in: Window
    zoom_out: Window
    earlier: Window
    later: Window


class TimelineView(msgspec.Struct, frozen=True):
    """`read_ms`, `error`: see `Read`; now_ms: of the Monitor's clock."""

    timeline: Timeline
    window: Window
    ways: Ways
    ticks: tuple[Tick, ...]
    spans: tuple[str, ...]
    now_ms: int
    read_ms: int
    error: dict[str, str] | None


class TimelineTab:
    """`measured`: changes that the Monitor has seen, with the time without a RUNNING Core."""

    key, title, every_s = "timeline", "Timeline", 3.0

    def __init__(self, nodes: TaskNodes, measured: Callable[[str], Sequence[Change]]) -> None:
        self._nodes = nodes
        self._measured = measured

    async def content(self, asked: Asked) -> TimelineView:
        shown = window(asked.query, asked.now_ms)
        read = await self._nodes.history(asked.task)
        told = _measured(asked.task, read.value or (), self._measured(asked.task.name))
        ddl = (await self._nodes.statements(asked.task)).value or ()
        marks = [Mark(one.time_ms, "DDL", "idle", "", one.text, "ddl", reason=_at(one)) for one in ddl]
        line = timeline(asked.task, told, shown.from_ms, shown.to_ms, asked.now_ms, marks)
        now = asked.now_ms
        ways = Ways(zoomed(shown, 0.5, now), zoomed(shown, 2, now), moved(shown, -0.5, now), moved(shown, 0.5, now))
        return TimelineView(line, shown, ways, ticks(shown), tuple(SPANS), now, read.read_ms, read.error)

    async def text(self, asked: Asked) -> str:
        """As `replicator task history` prints it. All of it without a window."""
        chosen = any(key in asked.query for key in ("from", "to", "span"))
        shown = window(asked.query, asked.now_ms) if chosen else Window(0, asked.now_ms)
        entries = (await self._nodes.history(asked.task)).value or ()
        return history.text([_item(one) for one in entries if shown.from_ms <= one.record.time_ms <= shown.to_ms])


def _measured(task: TaskRow, entries: Sequence[Entry], seen: Sequence[Change]) -> Sequence[Change]:
    """The newest first."""
    outages = {change.sequence: change.outage_s for change in seen if change.outage_s}
    told = [
        msgspec.structs.replace(change, outage_s=outages.get(change.sequence, 0.0))
        for change in changes(task.name, entries)
    ]
    return latest(told, KEPT * 2)


def _at(statement: Statement) -> str:
    return f"{statement.text} at {statement.position}" if statement.position else statement.text


def _item(entry: Entry) -> dict[str, Any]:
    fields = ("time_ms", "host", "epoch", "position", "by", "reason", "seconds")
    return {"event": entry.record.kind, **{name: getattr(entry.record, name) for name in fields}}
