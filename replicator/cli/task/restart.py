"""`replicator task restart`: restarts the workers of tasks on the same hosts."""

from __future__ import annotations

import time

import click

from replicator.cli.task.client import Client
from replicator.cli.task.dry_run import dry_run_option, show
from replicator.cli.task.options import choice_options, reason_option, timeout_option, with_client
from replicator.cli.task.selection import Choice, chosen, for_each
from replicator.cli.task.wait import wait_for
from replicator.cli.terminal import clean
from replicator.errors import ProcessError

_POLL = 0.1
_RECENT = 20


@click.command("restart")
@choice_options
@reason_option
@click.option("--no-wait", is_flag=True, help="Do not wait until the tasks run again.")
@timeout_option(60)
@dry_run_option
@with_client
def command(choice: Choice, reason: str, no_wait: bool, timeout: float, dry_run: bool, client: Client) -> None:
    """Restart the workers of tasks, one after the other, each on the same host: the worker ends at a transaction
    boundary and another one continues from there. The Core keeps the lease; no row is lost or sent twice.

    For a failed task use `retry`, for another host `switchover`. Exit status is 4 if a task does not run.
    """
    if dry_run:
        show(client, chosen(client, choice), "restart", "restarted")
        return

    def restart(name: str) -> None:
        started = time.monotonic()
        deadline = started + timeout
        last = max((entry["number"] for entry in client.history(name, 1)["items"]), default=-1)
        client.act(name, "restart", reason=reason)
        if no_wait:
            click.echo(f"{clean(name)} restarting")
            return
        _wait_for_outcome(client, name, last, deadline, timeout)
        wait_for(client, name, "running", deadline, timeout)
        click.echo(f"{clean(name)} restarted in {time.monotonic() - started:.2f} s")

    for_each(chosen(client, choice), restart)


def _wait_for_outcome(client: Client, name: str, last: int, deadline: float, timeout: float) -> None:
    """Until the history has it, after entry `last`. Raises ProcessError E5007, E5009."""
    while True:
        for entry in client.history(name, _RECENT)["items"]:
            if entry["number"] <= last:
                continue
            if entry["event"] == "restart":
                return
            if entry["event"] == "refused" and "restart" in entry["reason"]:
                raise ProcessError("E5007", f"'{name}' was not restarted", found=entry["reason"])
        if time.monotonic() >= deadline:
            raise ProcessError(
                "E5009",
                f"the restart of '{name}' has not begun after {timeout:g} s",
                fix=f"`replicator task describe {name}` shows its state. Cores of earlier releases can't do it.",
            )
        time.sleep(_POLL)
