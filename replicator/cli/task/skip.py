"""`replicator task skip`: skips the transaction that a task has failed at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from replicator.cli.task.ask import confirmation_options, type_name
from replicator.cli.task.client import Client
from replicator.cli.task.options import name_argument, reason_option, with_client
from replicator.cli.terminal import clean


@click.command("skip")
@name_argument
@click.option(
    "--transaction", default="", metavar="GTID|FILE:OFFSET", help="Transaction of the error; required with -y."
)
@reason_option
@click.option("--dry-run", is_flag=True, help="Only show what would never be delivered.")
@confirmation_options
@with_client
def command(name: str, transaction: str, reason: str, dry_run: bool, yes: bool, no_input: bool, client: Client) -> None:
    """Skip the transaction that NAME has failed at, and retry the task. The changes of that transaction never reach the
    consumers.

    Shows the transaction and its error, and asks for the name of the task as confirmation. Exit status is 4 for any
    other transaction, and if the task has not failed.
    """
    if yes and not transaction and not dry_run:
        raise click.UsageError("-y needs --transaction, so that nothing else is skipped than what you have looked at.")
    preview = client.act(name, "skip", dry_run=True, transaction=transaction)
    for line in _lines(preview):
        click.echo(line, err=not dry_run)
    if dry_run:
        return
    if not yes:
        question = f"Skip it? Type the task's name, '{clean(name)}'"
        type_name(question, name, no_input=no_input, instead="Give -y and --transaction.")
    ordered = client.act(name, "skip", transaction=preview["transaction"], reason=reason)
    click.echo(f"{clean(name)} skips {clean(ordered['transaction'])} and tries again")


def _lines(preview: dict[str, Any]) -> Iterator[str]:
    error = preview["problem"]
    yield f"{'Failed with:':<14}{clean(error['code'])} {clean(error['what'])}"
    yield f"{'At:':<14}{clean(error.get('position', '')) or '-'}"
    if error.get("table"):
        yield f"{'Table:':<14}{clean(error['table'])}"
    if preview["rows"]:
        yield f"{'Delivered:':<14}{preview['rows']} rows of it, which consumers keep"
    yield f"{'Position:':<14}{clean(preview['begins'])}"
    yield click.style(f"{'NEVER sent:':<14}transaction {clean(preview['transaction'])}, with all its tables", fg="red")
