"""`replicator task delete`: deletes a task."""

from __future__ import annotations

import time

import click

from replicator.cli.task.client import Client
from replicator.cli.task.options import name_argument, timeout_option, with_client
from replicator.cli.terminal import clean, interactive
from replicator.errors import ProcessError

_POLL = 0.5
_SERVER_WAITS = 10.0


@click.command("delete")
@name_argument
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--no-input", is_flag=True, help="Never ask; without -y the command is refused.")
@timeout_option(60)
@with_client
def command(name: str, yes: bool, no_input: bool, timeout: float, client: Client) -> None:
    """Stop NAME on every Core and remove it, with its position and history. Records that it has sent are not removed.

    In a terminal the name must be typed as confirmation; elsewhere -y is required.
    """
    client.task(name)
    if not yes:
        _confirm(name, no_input)
    deadline = time.monotonic() + timeout
    if not client.delete(name, min(_SERVER_WAITS, timeout)):
        _wait(client, name, deadline)
    click.echo(f"{clean(name)} deleted")


def _confirm(name: str, no_input: bool) -> None:
    if no_input or not interactive():
        raise click.UsageError(f"Confirmation is not possible here: give -y to delete '{clean(name)}'.")
    typed = click.prompt(
        f"Delete '{clean(name)}' and its position? Type its name", default="", show_default=False, err=True
    )
    if typed != name:
        raise click.UsageError("That is another name; nothing was deleted.")


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
