"""`replicator task fork`: creates a task at a position of another one."""

from __future__ import annotations

import click

from replicator.cli.task.client import Client
from replicator.cli.task.options import name_argument, reason_option, with_client
from replicator.cli.terminal import clean


@click.command("fork")
@name_argument
@click.argument("new")
@click.option(
    "--at", default="", metavar="TIME", help="Time of the position, such as '2026-11-20 03:00'; default: now."
)
@click.option("--dry-run", is_flag=True, help="Check everything, but write nothing.")
@reason_option
@with_client
def command(name: str, new: str, at: str, dry_run: bool, reason: str, client: Client) -> None:
    """Create the task NEW with the configuration of NAME, starting at the position of NAME at a given time. NAME is not
    changed."""
    client.act(name, "fork", dry_run=dry_run, name=new, at=at, reason=reason)
    click.echo(f"{clean(new)} created{' (dry run)' if dry_run else ''}")
