"""`replicator task get`: lists tasks."""

from __future__ import annotations

import json
import time
from typing import Any

import click

from replicator.cli import terminal
from replicator.cli.task import render
from replicator.cli.task.client import Client
from replicator.cli.task.options import interval_option, optional_name_argument, output_option, with_client

_HOME_AND_CLEAR = "\x1b[H\x1b[2J"


@click.command("get")
@optional_name_argument
@output_option("table", "wide", "json", "yaml", "name")
@click.option(
    "-w", "--watch", is_flag=True, help="Repeat until Ctrl-C: redraw in a terminal, print only changed tasks in a pipe."
)
@click.option("--no-headers", is_flag=True, help="Print no header line.")
@interval_option
@with_client
def command(name: str | None, output: str, watch: bool, no_headers: bool, interval: float, client: Client) -> None:
    """List all tasks, or show only NAME.

    A narrow terminal omits the least important columns; `-o wide` and a pipe show all of them.
    """
    if watch:
        _watch(client, name, output, not no_headers, interval)
        return
    answer = client.task(name) if name else client.tasks()
    items = [answer] if name else answer["items"]
    if output in ("json", "yaml"):
        click.echo(render.structured(answer, output), nl=False)
    else:
        if not items:
            click.echo("No tasks yet. Make one: replicator task apply -f FILE", err=True)
            return
        click.echo(_text(items, output, not no_headers), nl=False)


def _text(items: list[dict[str, Any]], output: str, heading: bool) -> str:
    if output == "name":
        return "".join(f"{terminal.clean(item['name'])}\n" for item in items)
    return render.tasks_table(items, output, heading)


def _watch(client: Client, name: str | None, output: str, heading: bool, interval: float) -> None:
    redraw = terminal.width() is not None and output in ("table", "wide")
    seen: dict[str, str] = {}
    while True:
        items = [client.task(name)] if name else client.tasks()["items"]
        if redraw:
            click.echo(f"{_HOME_AND_CLEAR}{_text(items, output, heading)}", nl=False)
        else:
            heading = _changes(items, output, heading, seen)
        time.sleep(interval)


def _changes(items: list[dict[str, Any]], output: str, heading: bool, seen: dict[str, str]) -> bool:
    """Prints the tasks that are not as they were `seen` last. Returns whether the heading is still to be printed."""
    for item in items:
        if output in ("json", "yaml"):
            text = f"{json.dumps(item, ensure_ascii=False)}\n" if output == "json" else f"---\n{render.as_yaml(item)}"
            known = json.dumps({**item, "figures_age_s": None})  # the age alone is no change
        else:
            text = known = _text([item], output, heading=False)
        if seen.get(item["name"]) == known:
            continue
        seen[item["name"]] = known
        click.echo(_text([item], output, heading) if output in ("table", "wide") else text, nl=False)
        heading = False
    return heading
