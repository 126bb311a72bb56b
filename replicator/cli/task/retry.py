"""`replicator task retry`."""

from __future__ import annotations

import click

from replicator.cli.task.client import Client
from replicator.cli.task.options import name_argument, with_client
from replicator.cli.terminal import clean
from replicator.errors import ProcessError


@click.command("retry")
@name_argument
@click.option("--take-over", is_flag=True, help="After E3111: the position at the sink is this task's own.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@with_client
def command(name: str, take_over: bool, yes: bool, client: Client) -> None:
    """Try NAME again after the reason of its failure is mended. Exit status 4 when it is not failed.

    --take-over goes on from a position at the sink that ZooKeeper knows nothing of, because it was restored from a
    backup. The writer of that position is fenced out: be sure that nobody runs a copy of this installation.
    """
    if take_over and not yes:
        for problem in client.task(name).get("problems", []):
            click.echo(f"{clean(problem['code'])} {clean(problem['what'])}: {clean(problem['found'])}", err=True)
        if not click.confirm("Nobody else runs this task, and it goes on from there?", err=True):
            raise ProcessError("E5007", f"'{name}' was not taken over: not confirmed")
    client.act(name, "retry", take_over="true" if take_over else "")
    click.echo(f"{clean(name)} retrying")
