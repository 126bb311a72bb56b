"""`replicator task switchover`: hands a task over to a standby."""

from __future__ import annotations

import time

import click

from replicator.cli.task.client import Client
from replicator.cli.task.options import name_argument, timeout_option, with_client
from replicator.cli.terminal import clean
from replicator.errors import ProcessError

_POLL = 0.05


@click.command("switchover")
@name_argument
@click.option("--to", default="", metavar="HOST", help="Host of the standby; default: the next in the queue.")
@click.option("--no-wait", is_flag=True, help="Do not wait until the standby runs the task.")
@click.option("--dry-run", is_flag=True, help="Only show which host would take over.")
@timeout_option(30)
@with_client
def command(name: str, to: str, no_wait: bool, dry_run: bool, timeout: float, client: Client) -> None:
    """Hand NAME over to a standby. The task is drained to a transaction boundary; no row is lost or sent twice.

    Exit status is 4 if the task is not running or the host is not a healthy standby.
    """
    before = client.task(name)
    started = time.monotonic()
    target = client.act(name, "switchover", dry_run=dry_run, to=to)["to"]
    if dry_run:
        click.echo(f"{clean(name)} {clean(before['host'])} -> {clean(target)} (dry run)")
        return
    if not no_wait:
        host = _wait(client, name, before["epoch"], started + timeout)
        target = f"{host} in {time.monotonic() - started:.2f} s"
    click.echo(f"{clean(name)} {clean(before['host'])} -> {clean(target)}")


def _wait(client: Client, name: str, epoch: int, deadline: float) -> str:
    """The host that runs now, under another epoch."""
    while True:
        task = client.task(name)
        if task["epoch"] != epoch and task["state"] == "running":
            return str(task["host"])
        if time.monotonic() >= deadline:
            found = f"{task['state']} on {task['host'] or 'no host'}"
            raise ProcessError(
                "E5009",
                f"the switchover of '{name}' has not finished yet",
                found=found,
                fix=f"`replicator task describe {name}` shows where it runs, and why not yet.",
            )
        time.sleep(_POLL)
