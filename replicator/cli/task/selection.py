"""Chooses the tasks of a command by names, patterns and states, and reports the outcome for each of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from fnmatch import fnmatchcase
from typing import Any

import click

from replicator.cli import failures
from replicator.cli.task.client import Client
from replicator.cli.terminal import clean
from replicator.errors import ProcessError, ReplicatorError

Item = dict[str, Any]
_SHOWN = 20
_HOPELESS = (failures.UNREACHABLE, failures.AUTH)
"""Exit statuses of errors that each further request would meet as well."""


def is_pattern(name: str) -> bool:
    return any(char in name for char in "*?[")


def is_one(names: Sequence[str], states: Collection[str]) -> bool:
    """One task by its name. Its outcome is that of the command."""
    return len(names) == 1 and not states and not is_pattern(names[0])


def chosen(client: Client, names: Sequence[str], states: Collection[str]) -> list[str]:
    """The names of the tasks. Names without a pattern are not looked up: each request says whether the task exists.

    Raises:
        UsageError: no task is chosen.
        ProcessError: E5003, a pattern or a state matches no task.
    """
    if not names and not states:
        raise click.UsageError("Give the NAME of a task, a quoted pattern such as 'shop_*', or --state STATE.")
    if not states and not any(map(is_pattern, names)):
        return list(dict.fromkeys(names))
    return [item["name"] for item in matching(client.tasks()["items"], names, states)]


def matching(items: Sequence[Item], names: Sequence[str], states: Collection[str]) -> list[Item]:
    """Those of `items` that any of `names` means (all, without names) and that are in one of `states` (in any, without
    states), in the order of `items`. Raises ProcessError E5003 for a name or states without a task."""
    taken: set[str] = set() if names else {item["name"] for item in items}
    for name in names:
        found = {item["name"] for item in items if item["name"] == name}
        if not found and is_pattern(name):
            found = {item["name"] for item in items if fnmatchcase(item["name"], name)}
        if not found:
            what = f"no task matches '{name}'" if is_pattern(name) else f"there is no task '{name}'"
            raise ProcessError("E5003", what, found=_listed([item["name"] for item in items]))
        taken |= found
    kept = [item for item in items if item["name"] in taken and (not states or item["state"] in states)]
    if not kept and states:
        counts = ", ".join(f"{item['name']} is {item['state']}" for item in items if item["name"] in taken)
        raise ProcessError("E5003", f"no such task is {' or '.join(states)}", found=clean(counts)[:300] or "no tasks")
    return kept


def for_each(names: Sequence[str], act: Callable[[str], object]) -> None:
    """Calls `act`, which prints its own outcome, for each task. An error of one does not prevent the others; what no
    other task would escape (no Server, no token) ends it. Then the exit status is that of the errors where all have the
    same, else 1.

    The error of a single task is raised as it is.
    """
    if len(names) == 1:
        act(names[0])
        return
    failed: dict[str, int] = {}
    for at, name in enumerate(names):
        try:
            act(name)
        except ReplicatorError as error:
            failures.show(error, of=clean(name))
            failed[name] = failures.exit_status(error)
            if failed[name] in _HOPELESS:
                finish(failed, names, names[at + 1 :])
    finish(failed, names)


def finish(failed: dict[str, int], names: Sequence[str], untried: Sequence[str] = ()) -> None:
    """Ends the command with the exit status of several tasks, unless all have succeeded."""
    if not failed:
        return
    rest = f"; not tried: {_listed(untried)}" if untried else ""
    click.echo(f"{len(failed)} of {len(names)} failed: {_listed(list(failed))}{rest}", err=True)
    statuses = set(failed.values())
    click.get_current_context().exit(statuses.pop() if len(statuses) == 1 else failures.ERROR)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return clean(", ".join(names[:_SHOWN]) + more) or "no tasks"
