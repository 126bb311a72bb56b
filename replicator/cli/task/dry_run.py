"""`--dry-run` of commands that order something from tasks: the Server checks the order, and nothing is changed."""

from __future__ import annotations

from collections.abc import Sequence

import click

from replicator.cli.task.client import Client
from replicator.cli.task.selection import for_each
from replicator.cli.terminal import clean

dry_run_option = click.option("--dry-run", is_flag=True, help="Only check whether it would be accepted.")


def show(client: Client, names: Sequence[str], verb: str, would: str, **arguments: str) -> None:
    """Prints what each task does now, and that it `would` do; fails as the order itself does."""

    def check(name: str) -> None:
        client.act(name, verb, dry_run=True, **arguments)
        task = client.task(name)
        where = f" on {clean(task['host'])}" if task["host"] else ""
        click.echo(f"{clean(name)} {task['state']}{where}, would be {would} (dry run)")

    for_each(names, check)
