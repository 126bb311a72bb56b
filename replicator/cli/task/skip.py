"""`replicator task skip`: skips the transaction that a task has failed at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from replicator.cli.task.client import Client
from replicator.cli.task.options import name_argument, with_client
from replicator.cli.terminal import clean, interactive


@click.command("skip")
@name_argument
@click.option(
    "--transaction", default="", metavar="GTID|FILE:OFFSET", help="Transaction of the error; required with -y."
)
@click.option("--reason", default="", help="Recorded in the history of the task.")
@click.option("--dry-run", is_flag=True, help="Only show what would never be delivered.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--no-input", is_flag=True, help="Never ask; without -y the command is refused.")
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
        _confirm(name, no_input)
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


def _confirm(name: str, no_input: bool) -> None:
    if no_input or not interactive():
        raise click.UsageError("Confirmation is not possible here: give -y and --transaction.")
    typed = click.prompt(f"Skip it? Type the task's name, '{clean(name)}'", default="", show_default=False, err=True)
    if typed != name:
        raise click.UsageError("That is another name; nothing was skipped.")
