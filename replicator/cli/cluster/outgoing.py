"""`replicator cluster outgoing`: the hosts and networks that tasks may connect to."""

from __future__ import annotations

from typing import Any

import click

from replicator.cli.address_types import OUTGOING
from replicator.cli.lazy import SuggestingGroup
from replicator.cli.task import render
from replicator.cli.task.ask import confirmation_options, confirmed
from replicator.cli.task.client import Client
from replicator.cli.task.options import output_option, with_client
from replicator.cli.terminal import clean, table
from replicator.net.outgoing import NOTHING

_MEANINGS = {
    "show": "get",
    "list": "get",
    "ls": "get",
    "put": "set",
    "replace": "set",
    "clear": "remove",
    "rm": "remove",
}
_reason = click.option("--reason", default="", help="Recorded with the list and in the audit.")


@click.group("outgoing", cls=SuggestingGroup, meanings=_MEANINGS)
def command() -> None:
    """Show or change the list of addresses that tasks may connect to.

    Without a list every address is allowed, unless a Core or Server has its own (--allow-outgoing). An address has to
    be on both lists. Changes require the role admin.
    """


@command.command("get")
@output_option("table", "json", "yaml")
@with_client
def get(output: str, client: Client) -> None:
    """Show the list, and tasks with addresses that it never allows."""
    _show(client.outgoing(), output)


@command.command("set")
@click.argument("entries", metavar="HOST|NETWORK[:PORT]...", nargs=-1, required=True, type=OUTGOING)
@click.option(
    "--dry-run", is_flag=True, help="Show which tasks have addresses that are not listed, and change nothing."
)
@_reason
@output_option("table", "json", "yaml")
@with_client
def set_(entries: tuple[str, ...], dry_run: bool, reason: str, output: str, client: Client) -> None:
    """Replace the whole list.

    Entries are host names (db1.example.com:3306, *.example.com), addresses and networks (10.0.0.0/8); `none` alone
    allows nothing. Cores and Servers obey the list within seconds. Open connections stay; the next connection of a task
    to an address that is not listed stops the task with E1050.
    """
    version = client.outgoing()["version"]
    _show(client.set_outgoing(entries, version, reason, dry_run=dry_run), output)
    click.echo("Nothing was changed." if dry_run else "The list was replaced.", err=True)


@command.command("remove")
@_reason
@confirmation_options
@with_client
def remove(reason: str, yes: bool, no_input: bool, client: Client) -> None:
    """Remove the list, so that each address is allowed that the lists of hosts allow."""
    found = client.outgoing()
    if not found["limited"]:
        click.echo("There is no list.", err=True)
        return
    if not yes and not confirmed("Remove the list, and allow every address?", no_input=no_input):
        click.echo("Nothing was changed.", err=True)
        return
    client.remove_outgoing(found["version"], reason)
    click.echo("The list was removed.", err=True)


def _show(answer: dict[str, Any], output: str) -> None:
    if output != "table":
        click.echo(render.structured(answer, output), nl=False)
        return
    if not answer["limited"]:
        click.echo("No list: every address is allowed. Make one: replicator cluster outgoing set ENTRY...", err=True)
        return
    for entry in answer["entries"] or [NOTHING]:
        click.echo(clean(entry))
    rows = [[clean(one["task"]), clean(one["key"]), clean(one["address"])] for one in answer["refused"]]
    if rows:
        click.echo("These tasks have addresses that are not on the list:", err=True)
        click.echo(table(["TASK", "KEY", "ADDRESS"], rows), nl=False, err=True)
