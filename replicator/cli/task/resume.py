"""`replicator task resume`."""

from __future__ import annotations

import click

from replicator.cli.task.client import Client
from replicator.cli.task.options import name_argument, with_client
from replicator.cli.terminal import clean


@click.command("resume")
@name_argument
@click.option("--reason", default="", help="Kept in the task's history.")
@with_client
def command(name: str, reason: str, client: Client) -> None:
    """Let NAME go on from where it was paused."""
    client.act(name, "resume", reason=reason)
    click.echo(f"{clean(name)} resuming")
