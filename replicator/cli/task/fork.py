"""`replicator task fork`."""

from __future__ import annotations

import click

from replicator.cli.task.client import Client
from replicator.cli.task.options import name_argument, with_client
from replicator.cli.terminal import clean


@click.command("fork")
@name_argument
@click.argument("new")
@click.option("--at", default="", metavar="TIME", help="The position of NAME at '2026-11-20 03:00'; default: now.")
@click.option("--dry-run", is_flag=True, help="Check everything, write nothing.")
@with_client
def command(name: str, new: str, at: str, dry_run: bool, client: Client) -> None:
    """Make the task NEW with NAME's configuration, to begin where NAME stood at a time. NAME goes on untouched."""
    client.act(name, "fork", dry_run=dry_run, name=new, at=at)
    click.echo(f"{clean(new)} created{' (dry run)' if dry_run else ''}")
