"""`replicator task delete`: deletes tasks."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, Final

import click

from replicator.cli import host_options
from replicator.cli.task.ask import confirmation_options, confirmed, type_name
from replicator.cli.task.client import Client
from replicator.cli.task.options import choice_options, timeout_option, with_client
from replicator.cli.task.selection import Choice, chosen, for_each, is_one
from replicator.cli.task.topics import Purges
from replicator.cli.terminal import clean
from replicator.errors import ProcessError

_POLL = 0.5
_SERVER_WAITS = 10.0
_LEFT: Final = (
    "its position stays at the sink: a task that is created again under the name needs a start position (source.start)"
)


@click.command("delete")
@choice_options
@click.option("--purge", is_flag=True, help="A later task of the name also ignores the position at the sink.")
@click.option(
    "--purge-topics",
    "topics",
    is_flag=True,
    help="Includes --purge; also deletes the topics that no other task has written.",
)
@click.option("--dry-run", is_flag=True, help="Only show what would be deleted.")
@click.option("--reason", default="", help="Recorded in the audit, and in the log of the Server.")
@confirmation_options
@timeout_option(60)
@host_options.host_access()
@with_client
def command(
    choice: Choice,
    purge: bool,
    topics: bool,
    dry_run: bool,
    reason: str,
    yes: bool,
    no_input: bool,
    timeout: float,
    client: Client,
) -> None:
    """Stop tasks on every Core and remove them, with their positions in ZooKeeper and their histories. Rows that they
    have delivered are not removed.

    The position at the sink stays there: a task that is created again under the name stops with E3109, unless its
    source.start is a position. With --purge it begins as a new task does.

    --purge-topics connects to Kafka from this host, with the secrets of the tasks that are here, before anything is
    deleted, and shows the topics. Topics that another task has written as well stay.

    In a terminal the name must be typed as confirmation, or the list of several tasks confirmed; elsewhere -y is
    required. A task whose configuration was changed after the question is not deleted.
    """
    picked = chosen(client, choice)
    one = is_one(choice)
    left = one and not purge and _keeps_position(client.task(picked[0])["config"])
    with ExitStack() as opened:
        purges = opened.enter_context(Purges(client, picked)) if topics else None
        if purges is not None:
            purges.show(err=not dry_run)
        if dry_run:
            for name in picked:
                click.echo(f"{clean(name)} would be deleted{_with(purge=purge, topics=topics)}")
            return
        shown: dict[str, int] = {}
        if not yes:
            shown = {item["name"]: item["version"] for item in client.tasks()["items"]}
            _confirm(picked, no_input, one=one, what=_with(purge=purge, topics=topics))

        def delete(name: str) -> None:
            deadline = time.monotonic() + timeout
            waits = min(_SERVER_WAITS, timeout)
            if not client.delete(name, waits, reason, purge=purge or topics, version=shown.get(name)):
                _wait(client, name, deadline)
            click.echo(f"{clean(name)} deleted")
            if purges is not None:
                purges.delete(name)
            elif left:
                click.echo(_LEFT, err=True)
            if purge or topics:
                click.echo("`replicator task apply -f FILE` creates it as a new task", err=True)

        for_each(picked, delete)


def _keeps_position(config: dict[str, Any] | None) -> bool:
    """Whether the task's sink keeps the position where the rows are."""
    sink = (config or {}).get("sink", {})
    return sink.get("type") != "kafka" or sink.get("delivery", "exactly_once") == "exactly_once" if sink else False


def _with(*, purge: bool, topics: bool) -> str:
    return " with its position at the sink and its topics" if topics else " with its position at the sink" * purge


def _confirm(names: Sequence[str], no_input: bool, *, one: bool, what: str) -> None:
    if one:
        name = clean(names[0])
        question = f"Delete '{name}'{what or ' and its position'}? Type its name"
        instead = f"Give -y to delete '{name}'."
        type_name(question, names[0], no_input=no_input, instead=instead)
        return
    click.echo("".join(f"{clean(name)}\n" for name in names), nl=False, err=True)
    count = f"{len(names)} task" + ("s" if len(names) > 1 else "")
    if not confirmed(
        f"Delete the {count} above and their positions?", no_input=no_input, instead=f"Give -y to delete {count}."
    ):
        raise ProcessError("E5007", "no task was deleted: not confirmed", fix="Answer y, or give -y.")


def _wait(client: Client, name: str, deadline: float) -> None:
    while True:
        task = client.find(name)
        if task is None:
            return
        if time.monotonic() >= deadline:
            hosts = ", ".join(one["host"] for one in task["instances"])
            raise ProcessError(
                "E5009",
                f"'{name}' is still being deleted",
                found=f"contenders: {hosts or 'none'}",
                fix=f"The Server completes the deletion when these Cores have left the task. `replicator task get "
                f"{name}` shows whether it is gone.",
            )
        time.sleep(_POLL)
