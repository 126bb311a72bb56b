"""`replicator task get`: lists tasks."""

from __future__ import annotations

from typing import Any

import click

from replicator.cli import terminal
from replicator.cli.task import render
from replicator.cli.task.client import Client
from replicator.cli.task.options import interval_option, names_argument, output_option, state_option, with_client
from replicator.cli.task.selection import is_one, matching
from replicator.cli.task.watch import Shown, watch_tasks


@click.command("get")
@names_argument
@state_option
@output_option("table", "wide", "json", "yaml", "name")
@click.option(
    "-w",
    "--watch",
    is_flag=True,
    help="Repeat until Ctrl-C: redraw in a terminal, tasks with problems first; print only changed tasks in a pipe.",
)
@click.option("--no-headers", is_flag=True, help="Print no header line.")
@interval_option
@with_client
def command(
    names: tuple[str, ...],
    states: tuple[str, ...],
    output: str,
    watch: bool,
    no_headers: bool,
    interval: float,
    client: Client,
) -> None:
    """List all tasks, or show only those that are named.

    NAME may be a quoted pattern such as 'shop_*'. A narrow terminal omits the least important columns; `-o wide` and a
    pipe show all of them. --watch shows the age of its table when the Server does not answer, and reconnects.
    """
    if watch:
        watch_tasks(client, Shown(names, states, output, not no_headers), interval)
        return
    if is_one(names, states):
        answer = client.task(names[0])
        items = [answer]
    else:
        answer = client.tasks()
        items = answer["items"] = _chosen(answer["items"], names, states)
    if output in ("json", "yaml"):
        click.echo(render.structured(answer, output), nl=False)
    elif items:
        click.echo(text(items, output, not no_headers), nl=False)
    elif states:
        click.echo(f"No task is {' or '.join(states)}.", err=True)
    else:
        click.echo("No tasks yet. Create one: replicator task apply -f FILE", err=True)


def _chosen(items: list[dict[str, Any]], names: tuple[str, ...], states: tuple[str, ...]) -> list[dict[str, Any]]:
    """A list without tasks in a state is an answer, other than a name without a task. Raises ProcessError E5003."""
    named = matching(items, names, ())
    return [item for item in named if not states or item["state"] in states]


def text(items: list[dict[str, Any]], output: str, heading: bool) -> str:
    if output == "name":
        return "".join(f"{terminal.clean(item['name'])}\n" for item in items)
    return render.tasks_table(items, output, heading)
