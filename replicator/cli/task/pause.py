"""`replicator task pause`."""

from __future__ import annotations

import click

from replicator.cli.task.client import Client
from replicator.cli.task.options import name_argument, with_client
from replicator.cli.terminal import clean


@click.command("pause")
@name_argument
@click.option("--reason", default="", help="Kept in the task's history.")
@with_client
def command(name: str, reason: str, client: Client) -> None:
    """Stop NAME at a transaction boundary. It stays paused over fail-overs, until resumed."""
    client.act(name, "pause", reason=reason)
    click.echo(f"{clean(name)} pausing")
