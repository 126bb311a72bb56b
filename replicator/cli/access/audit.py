"""`replicator audit`: shows the audit."""

from __future__ import annotations

from typing import Any

import click

from replicator.cli.access.options import Since
from replicator.cli.task import render
from replicator.cli.task.client import Client
from replicator.cli.task.completion import complete_task
from replicator.cli.task.options import output_option, with_client
from replicator.cli.terminal import clean, fitting, table, width

HEADER = ["TIME", "BY", "FROM", "WHAT", "TASK", "OUTCOME", "CODE", "CHANGES", "REASON"]
IMPORTANCE = ("WHAT", "BY", "TASK", "TIME", "OUTCOME", "CHANGES", "FROM", "CODE", "REASON")
_SHOWN = 3


@click.command("audit")
@click.option("--task", default="", shell_complete=complete_task, help="Only entries of this task, also a deleted one.")
@click.option("--by", default="", help="Only entries of this login, such as ann or token:ci.")
@click.option("--operation", default="", help="Only entries of this operation of the API, such as pauseTask.")
@click.option(
    "--outcome",
    type=click.Choice(["done", "failed", "refused", "replayed", "unknown"]),
    default=None,
    help="Only entries with this outcome.",
)
@click.option("--since", type=Since(), default=None, help="Only entries since then: 2h, 7d or a date.")
@click.option("--until", type=Since(), default=None, help="Only entries up to then: 2h, 7d or a date.")
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(1, 1000),
    default=200,
    show_default=True,
    help="Number of entries, the newest ones.",
)
@output_option("table", "json", "yaml")
@click.option("--no-headers", is_flag=True, help="Print no header line.")
@with_client
def command(
    task: str,
    by: str,
    operation: str,
    outcome: str | None,
    since: int | None,
    until: int | None,
    limit: int,
    output: str,
    no_headers: bool,
    client: Client,
) -> None:
    """Show who changed what, from where, and what was refused, newest last.

    Requires the role admin. `-o json` has each change with its former and its new value.
    """
    times = {"since_ms": str(since or ""), "until_ms": str(until or "")}
    answer = client.audit(task=task, by=by, operation=operation, outcome=outcome or "", **times, limit=str(limit))
    if output != "table":
        click.echo(render.structured(answer, output), nl=False)
    elif answer["items"]:
        click.echo(text(answer["items"], not no_headers), nl=False)
    else:
        click.echo("No entries.", err=True)


def text(items: list[dict[str, Any]], heading: bool = True) -> str:
    rows = [[clean(cell) or "-" for cell in _row(item)] for item in items]
    kept = fitting(HEADER, rows, IMPORTANCE, width())
    return table([HEADER[i] for i in kept], [[row[i] for i in kept] for row in rows], heading=heading)


def _row(item: dict[str, Any]) -> list[str]:
    more = f" (and {item['suppressed']} before)" if item["suppressed"] else ""
    return [
        render.moment(item["time_ms"]),
        item["by"],
        item["address"],
        f"{item['operation']} {item['target']}".strip(),
        item["task"],
        f"{item['outcome']}{more}",
        item["code"],
        _changes(item["changes"]),
        item["reason"],
    ]


def _changes(changes: list[dict[str, Any]]) -> str:
    """Of a task that was created or deleted there are too many to be shown."""
    if len(changes) > 10:
        return f"{len(changes)} keys"
    shown = [f"{one['key']}: {one.get('before', '-')} -> {one.get('after', '-')}" for one in changes[:_SHOWN]]
    return ", ".join(shown) + (f", {len(changes) - _SHOWN} more" if len(changes) > _SHOWN else "")
