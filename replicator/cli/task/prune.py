"""`replicator task apply --prune`: deletes tasks that the files no longer describe.

Only tasks that a selector or the label of an applied set covers are ever deleted. What is to be deleted is decided, and
confirmed, before anything is changed; each task is looked at again before it is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import click

from replicator.cli.task.ask import confirmation_options, confirmed
from replicator.cli.task.client import Client
from replicator.cli.task.options import selector_option
from replicator.cli.task.selection import for_each
from replicator.cli.task.task_files import TaskFile
from replicator.cli.terminal import clean
from replicator.config.labels import Requirement, Selector, check_labels
from replicator.errors import ProcessError

F = TypeVar("F", bound=Callable[..., Any])
SET_LABEL = "replicator/applied-set"
_WAIT = 10.0


class Pruning(NamedTuple):
    """What an operator gave. `label`: of the applied set, "" without one."""

    wanted: bool
    selector: Selector
    label: str
    yes: bool
    no_input: bool

    @property
    def covered(self) -> Selector:
        """The tasks that may be deleted."""
        own = (Requirement(SET_LABEL, "in", (self.label,)),) if self.label else ()
        return Selector((*self.selector.requirements, *own))


def _check_set(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str:
    if value is not None and not value:
        raise click.BadParameter("The name of the applied set is empty.")
    check_labels({SET_LABEL: value or ""})
    return value or ""


def prune_options(function: F) -> F:
    function = confirmation_options(function)
    function = click.option(
        "--applied-set",
        metavar="NAME",
        callback=_check_set,
        help=f"Give the tasks the label {SET_LABEL}=NAME; with --prune only tasks with this label are deleted.",
    )(function)
    function = selector_option(function)
    return click.option(
        "--prune",
        is_flag=True,
        help="Then delete the tasks that --selector or --applied-set covers and no file describes.",
    )(function)


def check(pruning: Pruning, tasks: Sequence[TaskFile]) -> None:
    """Raises UsageError."""
    limited = bool(pruning.covered.requirements)
    if pruning.wanted and not limited:
        raise click.UsageError("--prune requires --selector or --applied-set, which say what may be deleted.")
    if pruning.selector.requirements and not pruning.wanted:
        raise click.UsageError("--selector is for --prune; the files say which tasks are applied.")
    for task in tasks:
        labels = dict(task.config.labels)
        if pruning.selector.requirements and not pruning.selector.matches(labels):
            name, shown = clean(task.config.name), clean(str(pruning.selector))
            raise click.UsageError(f"The task '{name}' in {task.label} does not match the selector {shown}.")


def condemned(client: Client, pruning: Pruning, tasks: Sequence[TaskFile]) -> list[str]:
    """The tasks to delete. Raises ProcessError E5092 where that is every task that is covered."""
    described = {task.config.name for task in tasks}
    covered = [item for item in client.tasks()["items"] if _is_covered(item, pruning)]
    gone = [str(item["name"]) for item in covered if item["name"] not in described]
    if gone and len(gone) == len(covered):
        raise ProcessError(
            "E5092",
            "prune would delete every task that it covers; nothing was changed",
            found=clean(", ".join(gone))[:300],
            wanted="at least one of them in the files",
        )
    return gone


def _is_covered(item: dict[str, Any], pruning: Pruning) -> bool:
    return item["desired"] != "deleted" and pruning.covered.matches(item.get("labels") or {})


def confirm(names: Sequence[str], pruning: Pruning, server: str) -> None:
    """Raises ProcessError E5007 unless it is wanted, UsageError where nobody can answer."""
    if not names or pruning.yes:
        return
    click.echo("".join(f"{clean(name)}\n" for name in names), nl=False, err=True)
    count = f"{len(names)} task" + ("s" if len(names) > 1 else "")
    question = f"Delete the {count} above and their positions at {clean(server)}, which no file describes?"
    if not confirmed(question, no_input=pruning.no_input, instead=f"Give -y to delete {count}, or --dry-run."):
        raise ProcessError("E5007", "nothing was applied: not confirmed", fix="Answer y, or give -y.")


def prune(client: Client, names: Sequence[str], pruning: Pruning, *, dry_run: bool, reason: str) -> None:
    def delete(name: str) -> None:
        if dry_run:
            click.echo(f"{clean(name)} pruned (dry run)")
            return
        item = client.find(name)
        if item is None or not _is_covered(item, pruning):
            click.echo(f"{clean(name)}: not pruned; it was changed in the meantime", err=True)
            return
        done = client.delete(name, _WAIT, reason, version=item["version"])
        click.echo(f"{clean(name)} {'pruned' if done else 'is being deleted'}")

    if names:
        for_each(names, delete)


def labelled(task: TaskFile, label: str) -> TaskFile:
    """The task with the label of its applied set."""
    from replicator.config.export import exported  # here: pydantic would double the start of every command
    from replicator.config.load import load_task, to_data

    if not label:
        return task
    data = to_data(task.config)
    text = exported({**data, "labels": {**data.get("labels", {}), SET_LABEL: label}})
    return TaskFile(task.label, text.encode(), load_task(text))
