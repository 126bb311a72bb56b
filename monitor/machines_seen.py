"""What the pages of machines show in addition to the figures of each: its tasks, changes and online rates. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import nlargest
from typing import Final

import msgspec

from monitor.history.online import OnlineRate
from monitor.role_changes import Change
from monitor.view import MachineView, TaskRow, Tone, View

MOST_CHANGES: Final = 50


class MachineRow(msgspec.Struct, frozen=True):
    """roles: Core or the role of the agent, and whether a Server or Monitor runs on this host; online: over a day, a
    week, a month."""

    machine: MachineView
    roles: tuple[str, ...]
    online: tuple[OnlineRate, ...]


class TaskOn(msgspec.Struct, frozen=True):
    """A task that the machine takes part in. role: its state there; tone, state: of the task."""

    name: str
    role: str
    state: str
    tone: Tone
    lag_s: float | None = None


def rows(view: View, found: Iterable[tuple[MachineView, tuple[OnlineRate, ...]]]) -> tuple[MachineRow, ...]:
    servers = {server.host for server in view.servers}
    monitors = {monitor.host for monitor in view.monitors}
    return tuple(MachineRow(machine, _roles(machine, servers, monitors), online) for machine, online in found)


def _roles(machine: MachineView, servers: set[str], monitors: set[str]) -> tuple[str, ...]:
    """`HOST~xxxx` is a second Core of a host."""
    host = machine.host.partition("~")[0]
    own = (machine.role,) if machine.role else ()
    return (*own, *(("server",) if host in servers else ()), *(("monitor",) if host in monitors else ()))


def tasks_on(view: View, host: str) -> tuple[TaskOn, ...]:
    """Those that it runs first."""
    found = [on for task in view.tasks if (on := _task_on(task, host)) is not None]
    return tuple(sorted(found, key=lambda on: (on.role != "RUNNING", on.name)))


def _task_on(task: TaskRow, host: str) -> TaskOn | None:
    for member in task.members:
        if (member.machine or member.host) == host:
            lag_s = task.lag_s if member.state == "RUNNING" else None
            return TaskOn(task.name, member.state or "UNKNOWN", task.state, task.tone, lag_s)
    return None


def changes_on(host: str, changes: Iterable[Sequence[Change]]) -> tuple[Change, ...]:
    """Of all tasks those in which it took part, the newest first."""
    found = (change for of_task in changes for change in of_task if host in (change.host, change.previous))
    return tuple(nlargest(MOST_CHANGES, found, key=lambda change: (change.time_ms, change.task, change.sequence)))
