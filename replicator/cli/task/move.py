"""`replicator task move`: moves tasks to another Core of their group."""

from __future__ import annotations

import click

from replicator.cli.group import line
from replicator.cli.machine import complete_host
from replicator.cli.task.client import Client
from replicator.cli.task.options import choice_options, reason_option, with_client
from replicator.cli.task.selection import Choice, chosen, for_each


@click.command("move")
@choice_options
@click.option("--to", required=True, metavar="HOST", shell_complete=complete_host, help="Core of the task's group.")
@reason_option
@click.option("--dry-run", is_flag=True, help="Only show where the task would be placed.")
@with_client
def command(choice: Choice, to: str, reason: str, dry_run: bool, client: Client) -> None:
    """Move tasks to another Core of their group, once: each is drained to a transaction boundary and handed over.

    `replicator task wait` waits until it runs. Exit status is 4 if the Core has no room for the task.
    """

    def move(name: str) -> None:
        for each in client.act(name, "move", dry_run=dry_run, to=to, reason=reason)["items"]:
            click.echo(line(each, dry_run=dry_run))

    for_each(chosen(client, choice), move)
