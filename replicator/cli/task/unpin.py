"""`replicator task unpin`: lets tasks run on any Core of their group."""

from __future__ import annotations

import click

from replicator.cli.task.client import Client
from replicator.cli.task.options import choice_options, reason_option, with_client
from replicator.cli.task.selection import Choice, chosen, for_each
from replicator.cli.terminal import clean


@click.command("unpin")
@choice_options
@reason_option
@with_client
def command(choice: Choice, reason: str, client: Client) -> None:
    """Let tasks run on any Core of their group. They stay where they are."""

    def unpin(name: str) -> None:
        client.act(name, "unpin", reason=reason)
        click.echo(f"{clean(name)}: not pinned")

    for_each(chosen(client, choice), unpin)
