"""`replicator task pause`."""

from __future__ import annotations

import click

from replicator.cli.task.client import Client
from replicator.cli.task.maintenance import maintain, maintenance_options
from replicator.cli.task.options import optional_name_argument, with_client
from replicator.cli.terminal import clean


@click.command("pause")
@optional_name_argument
@click.option("--reason", default="", help="Kept in the task's history.")
@maintenance_options
@with_client
def command(name: str | None, reason: str, maintenance: bool, everything: bool, client: Client) -> None:
    """Stop NAME at a transaction boundary. It stays paused over fail-overs, until resumed.

    With --maintenance, instead: the RUNNING instance goes on, and no standby is promoted meanwhile.
    """
    if maintenance:
        maintain(client, name, everything, on=True, reason=reason)
        return
    if name is None or everything:
        raise click.UsageError("give the NAME of one task; --all is for --maintenance")
    client.act(name, "pause", reason=reason)
    click.echo(f"{clean(name)} pausing")
