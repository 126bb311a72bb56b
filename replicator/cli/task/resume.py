"""`replicator task resume`: resumes paused tasks."""

from __future__ import annotations

import click

from replicator.cli.task.client import Client
from replicator.cli.task.dry_run import dry_run_option, show
from replicator.cli.task.maintenance import maintain, maintenance_options
from replicator.cli.task.options import choice_options, reason_option, timeout_option, with_client
from replicator.cli.task.selection import Choice, chosen
from replicator.cli.task.wait import order_and_wait


@click.command("resume")
@choice_options
@reason_option
@click.option("--wait", is_flag=True, help="Wait until the tasks are running.")
@timeout_option(60)
@maintenance_options
@dry_run_option
@with_client
def command(
    choice: Choice,
    reason: str,
    wait: bool,
    timeout: float,
    maintenance: bool,
    everything: bool,
    dry_run: bool,
    client: Client,
) -> None:
    """Resume tasks from the positions at which they were paused. With --maintenance, standbys can be promoted again.

    NAME may be a quoted pattern such as 'shop_*'.
    """
    if maintenance and dry_run:
        raise click.UsageError("--dry-run can't be used with --maintenance.")
    if maintenance:
        maintain(client, choice, everything, on=False, reason=reason)
        return
    if everything:
        raise click.UsageError("--all is for --maintenance; give the NAME of each task, or '*'.")
    if dry_run:
        show(client, chosen(client, choice), "resume", "resumed")
        return
    order_and_wait(
        client,
        chosen(client, choice),
        lambda name: client.act(name, "resume", reason=reason),
        begun="resuming",
        reached="running",
        timeout=timeout if wait else None,
    )
