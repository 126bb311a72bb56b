"""Parts of a view: what a login with a selector sees, and what the page of a task shows. Pure."""

from __future__ import annotations

import msgspec

from monitor.role_changes import Change
from monitor.view import MachineView, TaskRow, View
from monitor.view_builder import tiles
from replicator.config.labels import parse_selector
from replicator.errors import ConfigError


def selected(view: View, selector: str) -> View:
    """A selector excludes tasks whose configuration can't be read, and one that can't be parsed excludes all. Machines
    and Servers are shown, machines without the roles that they have in other tasks."""
    if not selector:
        return view
    tasks = tuple(task for task in view.tasks if _matches(selector, task))
    names = {task.name for task in tasks}
    machines = tuple(_machine(machine, tasks) for machine in view.machines)
    return msgspec.structs.replace(
        view,
        tasks=tasks,
        machines=machines,
        tiles=tiles(tasks, machines),
        changes=tuple(change for change in view.changes if change.task in names),
        takeovers={task: counts for task, counts in view.takeovers.items() if task in names},
        failover_buckets=(),
        failover_seconds=0.0,
        alerts=tuple(one for one in view.alerts if one.of == "task" and one.name in names),
        alerts_silenced=0,
        silences=(),
        noticed={key: since for key, since in view.noticed.items() if _visible(key, names)},
    )


def of_task(view: View, name: str, changes: tuple[Change, ...]) -> View:
    """What the page of one task shows: no other task, and the machines that take part in its election.

    changes: all of the task's that are known, the newest first.
    """
    tasks = tuple(task for task in view.tasks if task.name == name)
    hosts = {member.host for task in tasks for member in task.members}
    machines = tuple(machine for machine in view.machines if machine.host in hosts)
    return msgspec.structs.replace(
        view,
        tasks=tasks,
        machines=machines,
        tiles=tiles(tasks, machines),
        changes=changes if tasks else (),
        alerts=tuple(one for one in view.alerts if one.of == "task" and one.name == name),
        alerts_silenced=0,
    )


def _visible(key: str, tasks: set[str]) -> bool:
    """Of a finding: about something else than a task, or about one of these."""
    subject, name = key.split("/")[:2]
    return subject != "task" or name in tasks


def _matches(selector: str, task: TaskRow) -> bool:
    try:
        return bool(task.source) and parse_selector(selector).matches(task.labels)
    except ConfigError:
        return False


def _machine(machine: MachineView, tasks: tuple[TaskRow, ...]) -> MachineView:
    states = [member.state for task in tasks for member in task.members if member.host == machine.host]
    return msgspec.structs.replace(machine, running=states.count("RUNNING"), standby=states.count("STANDBY"))
