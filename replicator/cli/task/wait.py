"""`replicator task wait`: waits for a state of a task."""

from __future__ import annotations

import time
from typing import Any

import click

from replicator.cli.task import render
from replicator.cli.task.client import Client
from replicator.cli.task.options import name_argument, timeout_option, with_client
from replicator.cli.terminal import clean
from replicator.errors import ProcessError

_POLL = 0.1
_FAILED_FOR = 2.0
"""Seconds that a task stays failed before waiting for anything else is given up: a retry may be on its way."""


@click.command("wait")
@name_argument
@click.option("--for", "wanted", type=click.Choice(["running", "paused", "failed", "deleted"]), default="running")
@timeout_option(60)
@with_client
def command(name: str, wanted: str, timeout: float, client: Client) -> None:
    """Wait until NAME is running (or paused, failed, deleted).

    Exit status is 7 after the timeout, and 4 at once if the command waits for running and the task has failed.
    """
    deadline = time.monotonic() + timeout
    failed_since: float | None = None
    while True:
        task = client.find(name) if wanted == "deleted" else client.task(name)
        if task is None or (task["state"] == wanted and task["desired"] != "deleted"):
            click.echo(f"{clean(name)} {wanted}")
            return
        now = time.monotonic()
        failed_since = (failed_since or now) if task["state"] == "failed" else None
        if wanted == "running" and failed_since is not None and now - failed_since >= _FAILED_FOR:
            raise _failed(name, task)
        if now >= deadline:
            found = ": ".join(text for text in (render.state(task), _why(task)) if text)
            raise ProcessError("E5009", f"'{name}' is not {wanted} after {timeout:g} s", found=found)
        time.sleep(_POLL)


def _failed(name: str, task: dict[str, Any]) -> ProcessError:
    fix = task["problems"][0].get("fix", "") if task["problems"] else ""
    return ProcessError("E5007", f"'{name}' has failed", found=_why(task), fix=fix)


def _why(task: dict[str, Any]) -> str:
    problem = task["problems"][0] if task["problems"] else {}
    return f"{problem.get('code', '')} {problem.get('what', '')}".strip()
