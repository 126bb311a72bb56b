"""`replicator machine`: shows machines, says which of them are expected, and drains a host before maintenance."""

from __future__ import annotations

import time

import click
from click.shell_completion import CompletionItem

from replicator.cli import machines
from replicator.cli.lazy import SuggestingGroup
from replicator.cli.task import render
from replicator.cli.task.client import Client
from replicator.cli.task.completion import asked
from replicator.cli.task.options import output_option, timeout_option, with_client
from replicator.cli.terminal import clean
from replicator.errors import ProcessError

_POLL = 0.2
_MEANINGS = {"evacuate": "drain", "cordon": "drain", "uncordon": "undrain", "resume": "undrain"}
_MEANINGS |= {"list": "get", "ls": "get", "show": "describe", "add": "expect", "register": "expect"}
_MEANINGS |= {"forget": "unexpect", "remove": "unexpect", "rm": "unexpect", "delete": "unexpect"}


def complete_host(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    names = [item["name"] for item in asked(ctx, Client.machines).get("items", ())]
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


_host = click.argument("host", shell_complete=complete_host)
_reason = click.option("--reason", default="", help="Recorded in the audit and in the history of the tasks.")


@click.group("machine", cls=SuggestingGroup, meanings=_MEANINGS)
def command() -> None:
    """Show machines, expect and forget them, and drain the Core of a host before maintenance."""


@command.command("get")
@output_option("table", "wide", "tsv", "json", "yaml", "name")
@click.option("--no-headers", is_flag=True, help="Print no header line.")
@with_client
def get(output: str, no_headers: bool, client: Client) -> None:
    """List the machines: state, number of tasks by role, load, memory, fullest disk, time since the last report.

    A machine is offline if it is expected, because it has reported once or by `replicator machine expect`, and not
    there without having ended on purpose. `-o wide` adds CPU, network, group, and the tasks by name.
    """
    machines.show_list(output, no_headers, client)


@command.command("describe")
@_host
@output_option("text", "json", "yaml")
@with_client
def describe(host: str, output: str, client: Client) -> None:
    """Show one machine: why it is expected, its process, load, memory, disks and network, and its tasks."""
    item = client.machine(host)
    text = render.structured(item, output) if render.is_structured(output) else machines.described(item)
    click.echo(text, nl=False)


_version = click.option(
    "--version",
    type=click.IntRange(0),
    default=None,
    help="Only if this is still the version that `machine describe` shows.",
)


@command.command("expect")
@_host
@click.option("--reason", default="", help="Recorded in the audit, and shown.")
@_version
@with_client
def expect(host: str, reason: str, version: int | None, client: Client) -> None:
    """Expect HOST (the --host of its Core or agent): while it is not there, it is offline, also if it never came.

    A machine that has reported once is expected without this. One that ends on purpose (`replicator core stop`) is not
    offline.
    """
    item = client.expect_machine(host, reason, version)
    click.echo(f"{clean(host)}: is expected, {item['state']}")


@command.command("unexpect")
@_host
@_version
@with_client
def unexpect(host: str, version: int | None, client: Client) -> None:
    """Forget HOST, which does not come back: it is not offline any more. Refused while it is online."""
    client.unexpect_machine(host, version)
    click.echo(f"{clean(host)}: is forgotten")


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
