"""`replicator task history`: shows the history of a task."""

from __future__ import annotations

from typing import Any

import click

from replicator.cli.task import render
from replicator.cli.task.client import Client
from replicator.cli.task.options import name_argument, output_option, with_client
from replicator.cli.terminal import clean, fitting, table, width

HEADER = ["TIME", "WHAT", "HOST", "EPOCH", "TOOK", "BY", "REASON", "POSITION"]
IMPORTANCE = ("WHAT", "HOST", "TIME", "REASON", "BY", "TOOK", "EPOCH", "POSITION")


@click.command("history")
@name_argument
@output_option("table", "tsv", "json", "yaml")
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(1, 200),
    default=50,
    show_default=True,
    help="Number of entries, the newest ones.",
)
@click.option("--no-headers", is_flag=True, help="Print no header line.")
@with_client
def command(name: str, output: str, limit: int, no_headers: bool, client: Client) -> None:
    """Show the history of NAME, newest last: RUNNING hosts, take-overs with their reasons, operators' commands."""
    answer = client.history(name, limit)
    if render.is_structured(output):
        click.echo(render.structured(answer, output), nl=False)
        return
    click.echo(text(answer["items"], not no_headers, output, width()), nl=False)


def text(items: list[dict[str, Any]], heading: bool = True, output: str = "table", columns: int | None = None) -> str:
    """`columns`: that there are, None for any number."""
    rows = [
        [
            render.moment(item["time_ms"]),
            clean(item["event"]),
            clean(item["host"]) or "-",
            str(item["epoch"] or "-"),
            f"{item['seconds']:.2f}s" if item["seconds"] else "-",
            clean(item["by"]) or "-",
            clean(item["reason"]) or "-",
            clean(item["position"]) or "-",
        ]
        for item in items
    ]
    if output == "tsv":
        return render.tab_separated(HEADER, rows, heading=heading)
    kept = fitting(HEADER, rows, IMPORTANCE, columns)
    return table([HEADER[i] for i in kept], [[row[i] for i in kept] for row in rows], heading=heading)
