"""`replicator task resume`: resumes a paused task."""

from __future__ import annotations

import click

from replicator.cli.task.client import Client
from replicator.cli.task.maintenance import maintain, maintenance_options
from replicator.cli.task.options import optional_name_argument, with_client
from replicator.cli.terminal import clean


@click.command("resume")
@optional_name_argument
@click.option("--reason", default="", help="Recorded in the history of the task.")
@maintenance_options
@with_client
def command(name: str | None, reason: str, maintenance: bool, everything: bool, client: Client) -> None:
    """Resume NAME from the position at which it was paused. With --maintenance, standbys can be promoted again."""
    if maintenance:
        maintain(client, name, everything, on=False, reason=reason)
        return
    if name is None or everything:
        raise click.UsageError("give the NAME of one task; --all is for --maintenance")
    client.act(name, "resume", reason=reason)
    click.echo(f"{clean(name)} resuming")
