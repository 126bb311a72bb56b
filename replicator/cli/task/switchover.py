"""`replicator task switchover`: hands tasks over to standbys."""

from __future__ import annotations

import time

import click
from click.shell_completion import CompletionItem

from replicator.cli.task.client import Client
from replicator.cli.task.completion import asked
from replicator.cli.task.options import choice_options, reason_option, timeout_option, with_client
from replicator.cli.task.selection import Choice, chosen, for_each
from replicator.cli.terminal import clean
from replicator.errors import ProcessError

_POLL = 0.05


def _complete_host(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Standbys of the tasks that are named before it; without a name those of all tasks."""
    names = ctx.params.get("names") or ctx.args  # the parser stops at an option without its value
    items = [item for item in asked(ctx, Client.tasks).get("items", ()) if not names or item["name"] in names]
    hosts = sorted({host for item in items for host in item["standbys"]})
    return [CompletionItem(host) for host in hosts if host.startswith(incomplete)]


@click.command("switchover")
@choice_options
@click.option(
    "--to",
    default="",
    metavar="HOST",
    shell_complete=_complete_host,
    help="Host of the standby; default: the next in the queue.",
)
@reason_option
@click.option("--no-wait", is_flag=True, help="Do not wait until the standby runs the task.")
@click.option("--dry-run", is_flag=True, help="Only show which host would take over.")
@timeout_option(30)
@with_client
def command(
    choice: Choice,
    to: str,
    reason: str,
    no_wait: bool,
    dry_run: bool,
    timeout: float,
    client: Client,
) -> None:
    """Hand tasks over to a standby, one after the other. Each is drained to a transaction boundary; no row is lost or
    sent twice.

    Exit status is 4 if a task is not running or the host is not a healthy standby.
    """

    def switch(name: str) -> None:
        before = client.task(name)
        started = time.monotonic()
        target = client.act(name, "switchover", dry_run=dry_run, to=to, reason=reason)["to"]
        if dry_run:
            target = f"{target} (dry run)"
        elif not no_wait:
            host = _wait(client, name, before["epoch"], started + timeout)
            target = f"{host} in {time.monotonic() - started:.2f} s"
        click.echo(f"{clean(name)} {clean(before['host'])} -> {clean(target)}")

    for_each(chosen(client, choice), switch)


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
