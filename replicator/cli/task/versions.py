"""`replicator task versions`: lists the versions of a task's configuration."""

from __future__ import annotations

from typing import Any

import click

from replicator.cli.task import render
from replicator.cli.task.client import Client
from replicator.cli.task.options import name_argument, output_option, with_client
from replicator.cli.terminal import clean, fitting, shortened, table, width

_HEADER = ("VERSION", "TIME", "CHANGE", "BY", "REASON")
_IMPORTANCE = ("VERSION", "TIME", "REASON", "CHANGE", "BY")
_SHORT = 20
"""Columns of an author in a terminal, and of a reason that is worth showing. The end of a line is cut."""


@click.command("versions")
@name_argument
@output_option("table", "tsv", "json", "yaml")
@with_client
def command(name: str, output: str, client: Client) -> None:
    """List the versions of a task's configuration that are kept, the newest last: who wrote each, when and why.

    `diff` compares two of them, `rollback` returns to one. The newest 100 are kept, in at most 4 MB. They are deleted
    with the task.
    """
    answer = client.versions(name)
    if render.is_structured(output):
        click.echo(render.structured(answer, output), nl=False)
    elif answer["items"]:
        click.echo(text(answer["items"], output), nl=False)
    else:
        click.echo("No versions: the task has no configuration that can be read.", err=True)


def text(items: list[dict[str, Any]], output: str) -> str:
    rows = [
        [
            f"{item['number']}{' (current)' if item['current'] else ''}",
            render.moment(item["time_ms"]),
            _change(item),
            clean(item["by"]) or "-",
            clean(item["reason"]) or "-",
        ]
        for item in items
    ]
    if output == "tsv":
        return render.tab_separated(_HEADER, rows, heading=True)
    limit = width()
    if limit is not None:
        rows = [[*row[:3], shortened(row[3], _SHORT), row[4]] for row in rows]
    narrow = [[*row[:4], shortened(row[4], _SHORT)] for row in rows]
    kept = fitting(_HEADER, narrow, _IMPORTANCE, limit)
    lines = table([_HEADER[i] for i in kept], [[row[i] for i in kept] for row in rows])
    return "".join(f"{shortened(line, limit)}\n" for line in lines.splitlines())


def _change(item: dict[str, Any]) -> str:
    return f"rollback to {item['restores']}" if item["restores"] is not None else clean(item["change"]) or "-"
