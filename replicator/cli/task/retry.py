"""`replicator task retry`: retries a failed task."""

from __future__ import annotations

import click

from replicator.cli.task.client import Client
from replicator.cli.task.options import name_argument, with_client
from replicator.cli.terminal import clean
from replicator.errors import ProcessError


@click.command("retry")
@name_argument
@click.option("--take-over", is_flag=True, help="After E3111: accept the position at the sink as this task's own.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@with_client
def command(name: str, take_over: bool, yes: bool, client: Client) -> None:
    """Retry NAME after the cause of its failure has been removed. Exit status is 4 if the task has not failed.

    --take-over continues from a position at the sink that is unknown to ZooKeeper, because ZooKeeper was restored from
    a backup. The writer of that position is fenced: make sure that no copy of this installation is running.
    """
    if take_over and not yes:
        for problem in client.task(name).get("problems", []):
            click.echo(f"{clean(problem['code'])} {clean(problem['what'])}: {clean(problem['found'])}", err=True)
        if not click.confirm("No other process runs this task, and it continues from there?", err=True):
            raise ProcessError("E5007", f"'{name}' was not taken over: not confirmed", fix="Answer y, or give -y.")
    client.act(name, "retry", take_over="true" if take_over else "")
    click.echo(f"{clean(name)} retrying")
