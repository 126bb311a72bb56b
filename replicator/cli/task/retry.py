"""`replicator task retry`."""

from __future__ import annotations

import click

from replicator.cli.task.client import Client
from replicator.cli.task.options import name_argument, with_client
from replicator.cli.terminal import clean


@click.command("retry")
@name_argument
@with_client
def command(name: str, client: Client) -> None:
    """Try NAME again after the reason of its failure is mended. Exit status 4 when it is not failed."""
    client.act(name, "retry")
    click.echo(f"{clean(name)} retrying")
