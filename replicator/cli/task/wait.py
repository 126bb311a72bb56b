"""`replicator task wait`: waits for a state of tasks."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import click

from replicator.cli.task import render
from replicator.cli.task.client import Client
from replicator.cli.task.options import choice_options, timeout_option, with_client
from replicator.cli.task.selection import Choice, chosen, for_each
from replicator.cli.terminal import clean
from replicator.errors import ProcessError, ReplicatorError

_POLL = 0.1
_FAILED_FOR = 2.0
"""Seconds that a task stays failed before waiting for anything else is given up: a retry may be on its way."""


@click.command("wait")
@choice_options
@click.option(
    "--for",
    "wanted",
    type=click.Choice(["running", "paused", "failed", "deleted"]),
    default="running",
    show_default=True,
    help="State to wait for.",
)
@timeout_option(60)
@with_client
def command(choice: Choice, wanted: str, timeout: float, client: Client) -> None:
    """Wait until tasks are running (or paused, failed, deleted).

    Exit status is 7 after the timeout, and 4 at once if the command waits for running and the task has failed.
    """
    deadline = time.monotonic() + timeout

    def wait(name: str) -> None:
        wait_for(client, name, wanted, deadline, timeout)
        click.echo(f"{clean(name)} {wanted}")

    for_each(chosen(client, choice), wait)


def order_and_wait(
    client: Client,
    names: Sequence[str],
    order: Callable[[str], object],
    *,
    begun: str,
    reached: str,
    timeout: float | None,
) -> None:
    """Gives an order for each task, and prints that it has `begun`; or, with `timeout`, waits after all orders until
    the tasks have `reached` the state, and prints that."""
    if timeout is None:

        def only(name: str) -> None:
            order(name)
            click.echo(f"{clean(name)} {begun}")

        for_each(names, only)
        return
    waits: dict[str, ReplicatorError | None] = {}
    deadline = time.monotonic() + timeout
    for name in names:
        try:
            order(name)
        except ReplicatorError as error:
            waits[name] = error

    def wait(name: str) -> None:
        refused = waits.get(name)
        if refused is not None:
            raise refused
        without = wait_for(client, name, reached, deadline, timeout, absent=reached == "paused")
        click.echo(f"{clean(name)} {reached}{without}")

    for_each(names, wait)


def wait_for(client: Client, name: str, wanted: str, deadline: float, timeout: float, *, absent: bool = False) -> str:
    """Waits until the task is `wanted`. `absent`: a task without any Core counts as that; the text says so.

    Raises:
        ProcessError: E5009 after the deadline; E5007, it has failed and will not run.
    """
    failed_since: float | None = None
    while True:
        task = client.find(name) if wanted == "deleted" else client.task(name)
        if task is None or (task["state"] == wanted and task["desired"] != "deleted"):
            return ""
        if absent and not task["instances"]:
            return " (no Core takes part in its election)"
        now = time.monotonic()
        failed_since = (failed_since or now) if task["state"] == "failed" else None
        if wanted == "running" and failed_since is not None and now - failed_since >= _FAILED_FOR:
            raise _failed(name, task)
        if now >= deadline:
            raise ProcessError(
                "E5009",
                f"'{name}' is not {wanted} after {timeout:g} s",
                found=": ".join(text for text in (render.state(task), _why(task)) if text),
                fix=f"`replicator task describe {name}` shows why; --timeout waits longer.",
            )
        time.sleep(_POLL)


def _failed(name: str, task: dict[str, Any]) -> ProcessError:
    fix = task["problems"][0].get("fix", "") if task["problems"] else ""
    return ProcessError("E5007", f"'{name}' has failed", found=_why(task), fix=fix)


def _why(task: dict[str, Any]) -> str:
    problem = task["problems"][0] if task["problems"] else {}
    return f"{problem.get('code', '')} {problem.get('what', '')}".strip()
