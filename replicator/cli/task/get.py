"""`replicator task get`: lists tasks."""

from __future__ import annotations

from typing import Any

import click

from replicator.cli import terminal
from replicator.cli.task import render
from replicator.cli.task.client import Client
from replicator.cli.task.options import choice_options, interval_option, output_option, with_client
from replicator.cli.task.selection import Choice, is_one, listed
from replicator.cli.task.watch import Shown, watch_tasks


@click.command("get")
@choice_options
@output_option("table", "wide", "tsv", "json", "yaml", "name")
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
    choice: Choice,
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
        watch_tasks(client, Shown(choice, output, not no_headers), interval)
        return
    if is_one(choice):
        answer = client.task(choice.names[0])
        items = [answer]
    else:
        answer = client.tasks()
        items = answer["items"] = listed(answer["items"], choice)
    if render.is_structured(output):
        click.echo(render.structured(answer, output), nl=False)
    elif items:
        click.echo(text(items, output, not no_headers), nl=False)
    elif choice.conditions:
        click.echo(f"No task is {choice.conditions}.", err=True)
    else:
        click.echo("No tasks yet. Create one: replicator task apply -f FILE", err=True)


def text(items: list[dict[str, Any]], output: str, heading: bool) -> str:
    if output == "name":
        return "".join(f"{terminal.clean(item['name'])}\n" for item in items)
    return render.tasks_table(items, output, heading)
