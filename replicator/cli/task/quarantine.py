"""`replicator task quarantine`: puts a table in quarantine or releases it."""

from __future__ import annotations

from typing import Any

import click

from replicator.cli.task import render
from replicator.cli.task.client import Client
from replicator.cli.task.options import name_argument, reason_option, with_client
from replicator.cli.terminal import clean, table


@click.command("quarantine")
@name_argument
@click.argument("which", metavar="DATABASE.TABLE", required=False, default="")
@click.option(
    "--release",
    is_flag=True,
    help="End the quarantine: deliver the table's rows again, from the position of the task at that time.",
)
@click.option(
    "--list", "listing", is_flag=True, help="List the tables that are or were in quarantine, with their positions."
)
@reason_option
@with_client
def command(name: str, which: str, release: bool, listing: bool, reason: str, client: Client) -> None:
    """Stop replicating one table of NAME; the other tables continue.

    The position at which the table stopped is stored before any later position counts as delivered. `replicator task
    replay` delivers the rows that were left out, during the quarantine or after the release. Applying a configuration
    does not change the quarantine.
    """
    if listing == bool(which):
        raise click.UsageError("give DATABASE.TABLE or --list")
    if listing:
        click.echo(_listed(client.task(name)["quarantined"]), nl=False)
        return
    client.act(name, "quarantine", table=which, release="true" if release else "", reason=reason)
    click.echo(f"{clean(which)} {'released from' if release else 'put into'} quarantine of {clean(name)}")


def _listed(marks: list[dict[str, Any]]) -> str:
    rows = [
        [
            clean(mark["table"]),
            clean(mark["since"]) or "not taken up yet",
            clean(mark["until"]) or "-",
            render.moment(mark["time_ms"]),
            clean(f"{mark['error'].get('code', '')} {mark['error'].get('what', '')}" if mark.get("error") else "-"),
        ]
        for mark in marks
    ]
    return table(["TABLE", "SINCE", "UNTIL", "TIME", "ERROR"], rows)
