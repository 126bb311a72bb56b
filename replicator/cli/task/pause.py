"""`replicator task pause`: stops tasks at a transaction boundary."""

from __future__ import annotations

import click

from replicator.cli.task.client import Client
from replicator.cli.task.dry_run import dry_run_option, show
from replicator.cli.task.maintenance import maintain, maintenance_options
from replicator.cli.task.options import choice_options, reason_option, timeout_option, with_client
from replicator.cli.task.selection import Choice, chosen
from replicator.cli.task.wait import order_and_wait


@click.command("pause")
@choice_options
@reason_option
@click.option("--wait", is_flag=True, help="Wait until the tasks are paused, or no Core takes part in their election.")
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
    """Stop tasks at a transaction boundary. They stay paused, also after a fail-over, until they are resumed.

    NAME may be a quoted pattern such as 'shop_*'. With --maintenance, tasks are not stopped: the RUNNING instances
    continue, but no standby is promoted.
    """
    if maintenance and dry_run:
        raise click.UsageError("--dry-run can't be used with --maintenance.")
    if maintenance:
        maintain(client, choice, everything, on=True, reason=reason)
        return
    if everything:
        raise click.UsageError("--all is for --maintenance; give the NAME of each task, or '*'.")
    if dry_run:
        show(client, chosen(client, choice), "pause", "paused")
        return
    order_and_wait(
        client,
        chosen(client, choice),
        lambda name: client.act(name, "pause", reason=reason),
        begun="pausing",
        reached="paused",
        timeout=timeout if wait else None,
    )
