"""`replicator task pin`: keeps tasks on one Core of their group."""

from __future__ import annotations

import click

from replicator.cli.group import line
from replicator.cli.machine import complete_host
from replicator.cli.task.client import Client
from replicator.cli.task.options import choice_options, reason_option, with_client
from replicator.cli.task.selection import Choice, chosen, for_each


@click.command("pin")
@choice_options
@click.option("--to", required=True, metavar="HOST", shell_complete=complete_host, help="Core of the task's group.")
@reason_option
@with_client
def command(choice: Choice, to: str, reason: str, client: Client) -> None:
    """Run tasks on one Core of their group whenever it is online. While it is not, other Cores of the group run them.

    Exit status is 4 if the Core has no room for the task.
    """

    def pin(name: str) -> None:
        for move in client.act(name, "pin", to=to, reason=reason)["items"]:
            click.echo(line(move))

    for_each(chosen(client, choice), pin)
