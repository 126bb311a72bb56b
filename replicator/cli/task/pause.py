"""`replicator task pause`: stops a task at a transaction boundary."""

from __future__ import annotations

import click

from replicator.cli.task.client import Client
from replicator.cli.task.maintenance import maintain, maintenance_options
from replicator.cli.task.options import optional_name_argument, with_client
from replicator.cli.terminal import clean


@click.command("pause")
@optional_name_argument
@click.option("--reason", default="", help="Recorded in the history of the task.")
@maintenance_options
@with_client
def command(name: str | None, reason: str, maintenance: bool, everything: bool, client: Client) -> None:
    """Stop NAME at a transaction boundary. It stays paused, also after a fail-over, until it is resumed.

    With --maintenance, NAME is not stopped: the RUNNING instance continues, but no standby is promoted.
    """
    if maintenance:
        maintain(client, name, everything, on=True, reason=reason)
        return
    if name is None or everything:
        raise click.UsageError("give the NAME of one task; --all is for --maintenance")
    client.act(name, "pause", reason=reason)
    click.echo(f"{clean(name)} pausing")
