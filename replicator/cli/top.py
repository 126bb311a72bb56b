"""`replicator top`: shows all tasks live, tasks with problems first, under a summary of tasks and machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import click

from replicator.cli import terminal
from replicator.cli.task import render
from replicator.cli.task.client import Client
from replicator.cli.task.options import choice_options, interval_option, with_client
from replicator.cli.task.selection import Choice, listed
from replicator.cli.task.watch import MAX_AGE, Item, Screen, by_trouble, watch

_SORTS = ("trouble", "lag", "rate", "name")
_COLUMNS = {
    **{name: render.COLUMNS[name] for name in ("NAME", "STATE", "HOST", "LAG", "ROWS/S", "STANDBYS")},
    "PROBLEM": render.WIDE["PROBLEM"],
}
_IMPORTANCE = ("NAME", "STATE", "LAG", "HOST", "ROWS/S", "PROBLEM", "STANDBYS")


@click.command("top")
@choice_options
@click.option(
    "--sort", type=click.Choice(_SORTS), default="trouble", show_default=True, help="Order of the tasks, worst first."
)
@click.option("--once", is_flag=True, help="Print one table and end, as in a pipe.")
@interval_option
@with_client
def command(choice: Choice, sort: str, once: bool, interval: float, client: Client) -> None:
    """Show tasks live, tasks with problems first, under a summary of tasks and machines, until Ctrl-C.

    In a pipe one table is printed. `task get -w` shows other columns, and changes only in a pipe.
    """
    machines: list[dict[str, Any]] = []

    def fetch() -> list[Item]:
        machines[:] = client.machines(MAX_AGE)["items"]
        return listed(client.tasks(MAX_AGE)["items"], choice)

    if once or terminal.width() is None:
        items = fetch()
        click.echo("".join(f"{line}\n" for line in [summary(items, machines), "", *_rows(items, sort)]), nl=False)
        return
    screen = Screen(
        client.server,
        lambda items: _rows(items, sort),
        lambda items: [summary(items, machines), ""],
        order=lambda items: ordered(items, sort),
        asked=bool(choice),
    )
    watch(screen, fetch, interval)


def ordered(items: Sequence[Item], sort: str) -> list[Item]:
    """The worst first. By trouble, tasks of one kind of trouble are in the order of their lag, unknown first."""
    if sort == "trouble":
        return by_trouble(items, lambda item: -_lag(item))
    if sort == "lag":
        return sorted(items, key=lambda item: (-_lag(item), item["name"]))
    if sort == "rate":
        return sorted(items, key=lambda item: (-(item["rows_per_s"] or 0.0), item["name"]))
    return sorted(items, key=lambda item: item["name"])


def _lag(item: Item) -> float:
    """Below a second no lag: tasks would change their places all the time."""
    if item["lag_s"] is None:
        return float("inf") if item["state"] == "running" else 0.0
    return float(int(item["lag_s"]))


def summary(items: Sequence[Item], machines: Sequence[dict[str, Any]]) -> str:
    """`3 tasks: 2 running, 1 failed; 2 machines; 340 rows/s; worst lag 45s (orders)`"""
    counts = Counter(item["state"] for item in items).most_common()
    states = ", ".join(f"{count} {state}" for state, count in counts)
    parts = [
        f"{_count(len(items), 'task')}{': ' if states else ''}{states}",
        _machines(machines),
        f"{render.rate(sum(item['rows_per_s'] or 0.0 for item in items if render.moving(item)))} rows/s",
    ]
    worst = max((item for item in items if item["lag_s"]), key=lambda item: item["lag_s"], default=None)
    if worst is not None:
        parts.append(f"worst lag {render.lag(worst)} ({terminal.clean(worst['name'])})")
    return "; ".join(parts)


def _machines(machines: Sequence[dict[str, Any]]) -> str:
    """`2 machines, 1 offline`"""
    offline = sum(machine["state"] == "offline" for machine in machines)
    there = _count(sum(machine["state"] in ("online", "silent") for machine in machines), "machine")
    return f"{there}, {offline} offline" if offline else there


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _rows(items: Sequence[Item], sort: str) -> list[str]:
    header = list(_COLUMNS)
    rows = [[cell(item) for cell in _COLUMNS.values()] for item in ordered(items, sort)]
    limit = terminal.width()
    last = header.index("PROBLEM")
    short = [[*row[:last], terminal.shortened(row[last], 30)] for row in rows]  # the end of the line is cut
    kept = terminal.fitting(header, short, _IMPORTANCE, limit)
    return terminal.table([header[i] for i in kept], [[row[i] for i in kept] for row in rows]).splitlines()
