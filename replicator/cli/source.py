"""`replicator source`: locks a source while it is changed, so that the tasks that read it pause."""

from __future__ import annotations

import math
import time
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from replicator.cli.durations import Wait
from replicator.cli.lazy import SuggestingGroup
from replicator.cli.listing import fitted, show
from replicator.cli.task import render
from replicator.cli.task.client import Client
from replicator.cli.task.completion import asked
from replicator.cli.task.options import output_option, with_client
from replicator.cli.terminal import clean
from replicator.errors import ProcessError

HEADER: Final = ("SOURCE", "LOCKED", "TASKS", "RUNNING", "SINCE", "UNTIL", "BY", "REASON")
IMPORTANCE: Final = ("SOURCE", "LOCKED", "TASKS", "RUNNING", "BY", "SINCE", "UNTIL", "REASON")
_POLL: Final = 0.2
_SETTLED: Final = 1.0


def _complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    items = asked(ctx, Client.sources).get("items", ())
    return [CompletionItem(item["name"]) for item in items if item["name"].startswith(incomplete)]


_address = click.argument("address", metavar="ADDRESS", shell_complete=_complete)


@click.group("source", cls=SuggestingGroup, meanings={"list": "ls", "get": "ls", "release": "unlock", "hold": "lock"})
def command() -> None:
    """Lock a source for maintenance. ADDRESS is host:port (port 3306 by default) or ddns:APP/DOMAIN."""


@command.command("lock")
@_address
@click.option("--reason", default="", help="Shown at each task that waits.")
@click.option("--for", "limit", type=Wait(), help="Time after which the lock ends by itself, such as 2h.")
@click.option("--wait", type=Wait(), help="Wait until no task reads the source, at most for this time, such as 1m.")
@with_client
def lock(address: str, reason: str, limit: float | None, wait: float | None, client: Client) -> None:
    """Pause all tasks that read a source, at a transaction boundary, until it is unlocked.

    The lock is recorded with author and reason. It stays when this command ends; with --for the Servers end it. Tasks
    that are created or started meanwhile wait, too. Exit status 4: another person has locked the source; 7: tasks
    still read it after --wait. The lock stays then.
    """
    if limit is not None and limit < 1:
        raise click.BadParameter("The lock lasts for 1s at least.", param_hint="--for")
    found = client.lock_source(address, reason, math.ceil(limit or 0))
    if wait is not None:
        found = _wait(client, address, wait)
    busy = [clean(item["task"]) for item in found["tasks"] if not item["stopped"]]
    state = f"still read by {', '.join(busy)}" if busy else "no task reads it"
    click.echo(f"{clean(found['name'])} locked, {state}")


def _wait(client: Client, address: str, seconds: float) -> dict[str, Any]:
    """A Core that had read the state just before may be about to start a worker, which ends at once: so they have to
    be stopped twice."""
    until, stopped = time.monotonic() + seconds, False
    while True:
        found = client.source(address)
        busy = [f"{item['task']} is {item['state']}" for item in found["tasks"] if not item["stopped"]]
        if not busy and stopped:
            return found
        stopped = not busy
        if stopped:
            time.sleep(_SETTLED)
            continue
        if time.monotonic() >= until:
            what = f"tasks read {address} after {seconds:g} s; it is locked all the same"
            raise ProcessError("E5009", what, found=clean("; ".join(busy)[:300]))
        time.sleep(_POLL)


@command.command("unlock")
@_address
@with_client
def unlock(address: str, client: Client) -> None:
    """Let the tasks of a source continue where they have paused."""
    client.unlock_source(address)
    click.echo(f"{clean(address)} unlocked")


@command.command("ls")
@output_option("table", "wide", "json", "yaml", "name")
@click.option("--no-headers", is_flag=True, help="Print no header line.")
@with_client
def ls(output: str, no_headers: bool, client: Client) -> None:
    """List the sources of tasks, who has locked them, and which tasks wait."""
    show(
        client.sources(),
        output,
        lambda items: fitted(
            HEADER, [_row(item) for item in items], IMPORTANCE, all_columns=output == "wide", heading=not no_headers
        ),
        "No task reads a source.",
    )


def _row(item: dict[str, Any]) -> list[str]:
    running = sum(not task["stopped"] for task in item["tasks"])
    return [
        clean(item["name"]),
        "yes" if item["locked"] else "no",
        str(len(item["tasks"])),
        str(running),
        render.moment(item["since_ms"]),
        render.moment(item["until_ms"]),
        clean(item["by"]) or "-",
        clean(item["reason"]) or "-",
    ]
