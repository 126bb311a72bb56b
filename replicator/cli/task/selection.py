"""Chooses the tasks of a command by names, patterns, states and labels, and reports the outcome for each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import click

from replicator.cli import failures
from replicator.cli.task.client import Client
from replicator.cli.terminal import clean
from replicator.config.labels import EVERYTHING, Selector
from replicator.errors import ProcessError, ReplicatorError

Item = dict[str, Any]
_SHOWN = 20
_HOPELESS = (failures.UNREACHABLE, failures.AUTH)
"""Exit statuses of errors that each further request would meet as well."""


class Choice(NamedTuple):
    """What an operator gave: names and patterns, states, and a selector of labels. A task has to fit all of them."""

    names: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    selector: Selector = EVERYTHING

    def __bool__(self) -> bool:
        return bool(self.names or self.conditions)

    @property
    def conditions(self) -> str:
        """In words, "" where names alone choose."""
        parts = [" or ".join(self.states), f"labelled {self.selector}" if self.selector.requirements else ""]
        return " and ".join(part for part in parts if part)

    def fits(self, item: Item) -> bool:
        """Whether the conditions hold; names are not looked at."""
        in_state = not self.states or item["state"] in self.states
        return in_state and self.selector.matches(item.get("labels") or {})


def is_pattern(name: str) -> bool:
    return any(char in name for char in "*?[")


def is_one(choice: Choice) -> bool:
    """One task by its name. Its outcome is that of the command."""
    return len(choice.names) == 1 and not choice.conditions and not is_pattern(choice.names[0])


def chosen(client: Client, choice: Choice) -> list[str]:
    """The names of the tasks. Names without a pattern are not looked up: each request says whether the task exists.

    Raises:
        UsageError: no task is chosen.
        ProcessError: E5003, a pattern, a state or a selector matches no task.
    """
    if not choice:
        raise click.UsageError(
            "Give the NAME of a task, a quoted pattern such as 'shop_*', --state STATE or --selector LABEL=VALUE."
        )
    if not choice.conditions and not any(map(is_pattern, choice.names)):
        return list(dict.fromkeys(choice.names))
    return [item["name"] for item in matching(client.tasks()["items"], choice)]


def matching(items: Sequence[Item], choice: Choice) -> list[Item]:
    """Those of `items` that any name of the choice means (all, without names) and that fit its conditions, in the order
    of `items`. Raises ProcessError E5003 for a name or conditions without a task."""
    taken = named(items, choice.names)
    kept = [item for item in taken if choice.fits(item)]
    if not kept and choice.conditions:
        described = ", ".join(f"{item['name']} is {item['state']}" for item in taken)
        found = described if choice.states else _listed([item["name"] for item in taken])
        raise ProcessError("E5003", f"no such task is {choice.conditions}", found=clean(found)[:300] or "no tasks")
    return kept


def listed(items: Sequence[Item], choice: Choice) -> list[Item]:
    """As `matching`, for a list: that no task fits the conditions is an answer."""
    return [item for item in named(items, choice.names) if choice.fits(item)]


def named(items: Sequence[Item], names: Sequence[str]) -> list[Item]:
    """Those of `items` that any of `names` means; all, without names. Raises ProcessError E5003 for a name without a
    task."""
    taken: set[str] = set() if names else {item["name"] for item in items}
    for name in names:
        found = {item["name"] for item in items if item["name"] == name}
        if not found and is_pattern(name):
            found = {item["name"] for item in items if fnmatchcase(item["name"], name)}
        if not found:
            what = f"no task matches '{name}'" if is_pattern(name) else f"there is no task '{name}'"
            raise ProcessError("E5003", what, found=_listed([item["name"] for item in items]))
        taken |= found
    return [item for item in items if item["name"] in taken]


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
