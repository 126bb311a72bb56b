"""`replicator task rollback`: replaces a task's configuration by an earlier version."""

from __future__ import annotations

import click

from replicator.cli.task.client import Client
from replicator.cli.task.completion import complete_version
from replicator.cli.task.diff import coloured
from replicator.cli.task.options import name_argument, reason_option, with_client
from replicator.cli.terminal import clean


@click.command("rollback")
@name_argument
@click.option(
    "--to",
    type=click.IntRange(0, 10**10 - 1),
    required=True,
    metavar="VERSION",
    shell_complete=complete_version,
    help="Version to return to; `replicator task versions NAME` lists them.",
)
@click.option("--dry-run", is_flag=True, help="Check everything and show the difference, but write nothing.")
@reason_option
@with_client
def command(name: str, to: int, dry_run: bool, reason: str, client: Client) -> None:
    """Replace the configuration of a task by that of an earlier version, with the same checks as `apply`.

    It becomes a new version, so that a rollback can be undone. The position of the task is not changed: rows that were
    delivered under the other configuration are not delivered again. Shows the difference on standard error.
    """
    diff = client.rollback(name, to, dry_run, reason)["diff"]
    click.echo(coloured(diff), nl=False, err=True)
    outcome = f"rolled back to version {to}" if diff else "unchanged"
    click.echo(f"{clean(name)} {outcome}{' (dry run)' if dry_run else ''}")
