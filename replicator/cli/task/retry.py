"""`replicator task retry`: retries failed tasks."""

from __future__ import annotations

import click

from replicator.cli.task.ask import confirmation_options, confirmed
from replicator.cli.task.client import Client
from replicator.cli.task.dry_run import dry_run_option, show
from replicator.cli.task.options import choice_options, reason_option, with_client
from replicator.cli.task.selection import Choice, chosen, for_each, is_one
from replicator.cli.terminal import clean
from replicator.errors import ProcessError


@click.command("retry")
@choice_options
@click.option("--take-over", is_flag=True, help="After E3111: accept the position at the sink as this task's own.")
@reason_option
@dry_run_option
@confirmation_options
@with_client
def command(
    choice: Choice,
    take_over: bool,
    reason: str,
    dry_run: bool,
    yes: bool,
    no_input: bool,
    client: Client,
) -> None:
    """Retry tasks after the cause of their failure has been removed. Exit status is 4 if a task has not failed.

    `--state failed` retries all failed tasks. --take-over, for one task, continues from a position at the sink that is
    unknown to ZooKeeper, because ZooKeeper was restored from a backup. The writer of that position is fenced: make sure
    that no copy of this installation is running.
    """
    if dry_run:
        show(client, chosen(client, choice), "retry", "retried", take_over="true" if take_over else "")
        return
    if take_over:
        if not is_one(choice):
            raise click.UsageError("--take-over accepts the position of one task: give its NAME.")
        _confirm(client, choice.names[0], yes, no_input)

    def retry(name: str) -> None:
        client.act(name, "retry", take_over="true" if take_over else "", reason=reason)
        click.echo(f"{clean(name)} retrying")

    for_each(chosen(client, choice), retry)


def _confirm(client: Client, name: str, yes: bool, no_input: bool) -> None:
    if yes:
        return
    for problem in client.task(name).get("problems", []):
        click.echo(f"{clean(problem['code'])} {clean(problem['what'])}: {clean(problem['found'])}", err=True)
    if not confirmed("No other process runs this task, and it continues from there?", no_input=no_input):
        raise ProcessError("E5007", f"'{name}' was not taken over: not confirmed", fix="Answer y, or give -y.")
