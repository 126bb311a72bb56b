"""`replicator task delete`: deletes tasks."""

from __future__ import annotations

import time
from collections.abc import Sequence

import click

from replicator.cli.task.ask import confirmation_options, confirmed, type_name
from replicator.cli.task.client import Client
from replicator.cli.task.options import choice_options, timeout_option, with_client
from replicator.cli.task.selection import Choice, chosen, for_each, is_one
from replicator.cli.terminal import clean
from replicator.errors import ProcessError

_POLL = 0.5
_SERVER_WAITS = 10.0


@click.command("delete")
@choice_options
@click.option("--reason", default="", help="Recorded in the log of the Server.")
@confirmation_options
@timeout_option(60)
@with_client
def command(
    choice: Choice,
    reason: str,
    yes: bool,
    no_input: bool,
    timeout: float,
    client: Client,
) -> None:
    """Stop tasks on every Core and remove them, with their positions in ZooKeeper and their histories. Records that
    they have sent, and topics, are not removed.

    The position at the sink stays there: a task that is created again under the name stops with E3109, unless its
    source.start is a position.

    In a terminal the name must be typed as confirmation, or the list of several tasks confirmed; elsewhere -y is
    required.
    """
    picked = chosen(client, choice)
    one = is_one(choice)
    if one:
        client.task(picked[0])
    if not yes:
        _confirm(picked, no_input, one=one)

    def delete(name: str) -> None:
        deadline = time.monotonic() + timeout
        if not client.delete(name, min(_SERVER_WAITS, timeout), reason):
            _wait(client, name, deadline)
        click.echo(f"{clean(name)} deleted")

    for_each(picked, delete)


def _confirm(names: Sequence[str], no_input: bool, *, one: bool) -> None:
    if one:
        name = clean(names[0])
        question, instead = f"Delete '{name}' and its position? Type its name", f"Give -y to delete '{name}'."
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
