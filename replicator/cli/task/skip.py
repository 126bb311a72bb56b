"""`replicator task skip`."""

from __future__ import annotations

import click

from replicator.cli.task.client import Client
from replicator.cli.task.options import name_argument, with_client
from replicator.cli.terminal import clean


@click.command("skip")
@name_argument
@click.option("--transaction", required=True, metavar="GTID", help="The one to pass; it stands in the error.")
@click.option("--reason", default="", help="Kept in the task's history.")
@with_client
def command(name: str, transaction: str, reason: str, client: Client) -> None:
    """Pass one transaction of the failed task NAME and try again. Its changes never reach the consumers.

    Exit status 4 when the task is not failed or the transaction is behind it already.
    """
    client.act(name, "skip", transaction=transaction, reason=reason)
    click.echo(f"{clean(name)} retrying without {clean(transaction)}")
