"""`replicator machine`: drains a host before maintenance, and ends that."""

from __future__ import annotations

import time

import click
from click.shell_completion import CompletionItem

from replicator.cli.lazy import SuggestingGroup
from replicator.cli.task.client import Client
from replicator.cli.task.completion import asked
from replicator.cli.task.options import timeout_option, with_client
from replicator.cli.terminal import clean
from replicator.errors import ProcessError

_POLL = 0.2
_MEANINGS = {"evacuate": "drain", "cordon": "drain", "uncordon": "undrain", "resume": "undrain"}


def complete_host(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    names = [item["name"] for item in asked(ctx, Client.machines).get("items", ())]
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


_host = click.argument("host", shell_complete=complete_host)
_reason = click.option("--reason", default="", help="Recorded in the audit and in the history of the tasks.")


@click.group("machine", cls=SuggestingGroup, meanings=_MEANINGS)
def command() -> None:
    """Drain the Core of a host before maintenance. `replicator machines` lists the machines."""


@command.command("drain")
@_host
@_reason
@click.option("--no-wait", is_flag=True, help="Do not wait until the host has no task.")
@timeout_option(120)
@with_client
def drain(host: str, reason: str, no_wait: bool, timeout: float, client: Client) -> None:
    """Let the Core of HOST hand over all its tasks, one after the other, and take no others.

    Each task is drained to a transaction boundary. The order is kept in ZooKeeper until `replicator machine undrain`,
    also if this command, a Server or the Core ends. A task that no other Core can take stays: exit status 7 if HOST
    still has tasks after --timeout.
    """
    deadline = time.monotonic() + timeout
    tasks = client.drain(host, reason, on=True)["tasks"]
    click.echo(f"{clean(host)}: is drained, {len(tasks)} tasks to hand over", err=True)
    while not no_wait:
        left = _tasks_of(client, host)
        for task in [each for each in tasks if each not in left]:
            click.echo(f"{clean(task)} left {clean(host)}")
        tasks = left
        if not tasks:
            click.echo(f"{clean(host)}: has no task", err=True)
            return
        if time.monotonic() >= deadline:
            raise ProcessError(
                "E5009",
                f"'{host}' still has tasks",
                found=", ".join(tasks[:10]) + (" ..." if len(tasks) > 10 else ""),
                fix="`replicator task describe NAME` shows why a task stays: no other Core has room for it, or reaches "
                "its source and sink. `replicator machine drain` again waits on.",
            )
        time.sleep(_POLL)


def _tasks_of(client: Client, host: str) -> list[str]:
    items = client.tasks()["items"]
    return [item["name"] for item in items if any(one["host"] == host for one in item["instances"])]


@command.command("undrain")
@_host
@_reason
@with_client
def undrain(host: str, reason: str, client: Client) -> None:
    """Let the Core of HOST take tasks again. Tasks stay where they are until `replicator group rebalance`."""
    client.drain(host, reason, on=False)
    click.echo(f"{clean(host)}: takes tasks again")
