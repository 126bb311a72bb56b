"""`replicator group`: groups of Cores, and where their tasks are placed."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import CompletionItem

from replicator.cli.lazy import SuggestingGroup
from replicator.cli.listing import show
from replicator.cli.task import render
from replicator.cli.task.client import Client
from replicator.cli.task.completion import asked
from replicator.cli.task.options import output_option, with_client
from replicator.cli.terminal import clean, table

_MEANINGS = {"list": "get", "ls": "get", "show": "describe", "info": "describe", "balance": "rebalance"}
_COLUMNS = ["GROUP", "CORES", "TASKS", "WEIGHT", "UNPLACED", "SHORT"]


def _complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    names = [item["name"] for item in asked(ctx, Client.groups).get("items", ())]
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


_name = click.argument("name", shell_complete=_complete)


@click.group("group", cls=SuggestingGroup, meanings=_MEANINGS)
def command() -> None:
    """Show groups of Cores and spread their tasks. `replicator docs operations` explains groups."""


@command.command("get")
@output_option("table", "tsv", "json", "yaml", "name")
@click.option("--no-headers", is_flag=True, help="Print no header line.")
@with_client
def get(output: str, no_headers: bool, client: Client) -> None:
    """List the groups: number of Cores and tasks, weight of what is placed, tasks without a place or a standby."""
    write = render.tab_separated if output == "tsv" else table
    show(
        client.groups(),
        output,
        lambda items: write(_COLUMNS, [*map(_row, items)], heading=not no_headers),
        "There is no group. Start a Core of one: replicator core --group NAME ...",
    )


def _row(item: dict[str, Any]) -> list[str]:
    unplaced = str(item["unplaced"])
    return [
        clean(item["name"]),
        str(len(item["members"])),
        str(len(item["tasks"])),
        f"{item['weight']} of {item['capacity']}",
        click.style(unplaced, fg="red") if item["unplaced"] else unplaced,
        str(item["short"]),
    ]


@command.command("describe")
@_name
@output_option("text", "json", "yaml")
@with_client
def describe(name: str, output: str, client: Client) -> None:
    """Show the Cores of a group with their load, and where each task is placed: the preferred Core first."""
    item = client.group(name)
    if render.is_structured(output):
        click.echo(render.structured(item, output), nl=False)
        return
    click.echo(f"Group:    {clean(item['name'])}")
    click.echo(f"Weight:   {item['weight']} of {item['capacity']}\n")
    if item["members"]:
        click.echo(table(["CORE", "WEIGHT", "TASKS", "STATE"], [*map(_member, item["members"])]), nl=False)
    else:
        click.echo("No Core is online.")
    if item["tasks"]:
        click.echo()
        click.echo(table(["TASK", "WEIGHT", "PLACED ON", "PIN"], [*map(_task, item["tasks"])]), nl=False)
    for task in item["tasks"]:
        if task["problem"]:
            problem = task["problem"]
            click.echo(f"\n{problem['code']} {clean(problem['what'])}\n  fix: {clean(problem.get('fix', ''))}")


def _member(item: dict[str, Any]) -> list[str]:
    state = "leaving" if item["leaving"] else "draining" if item["draining"] else "online"
    weight = f"{item['weight']} of {item['capacity']}"
    return [clean(item["host"]), weight, str(len(item["tasks"])), state]


def _task(item: dict[str, Any]) -> list[str]:
    missing = item["standbys"] + 1 - len(item["hosts"])
    short = f" (standbys missing: {missing})" if item["hosts"] and missing > 0 else ""
    placed = ", ".join(map(clean, item["hosts"])) or click.style("no Core", fg="red")
    return [clean(item["name"]), str(item["weight"]), f"{placed}{short}", clean(item["pin"]) or "-"]


@command.command("rebalance")
@_name
@click.option("--reason", default="", help="Recorded in the history of each task that moves.")
@click.option("--dry-run", is_flag=True, help="Only show which tasks would move.")
@with_client
def rebalance(name: str, reason: str, dry_run: bool, client: Client) -> None:
    """Spread the tasks of a group over its Cores by weight, with as few moves as that takes.

    Tasks stay where they are when Cores come and go, until this is run. Each one that moves is handed over at a
    transaction boundary, one at a time per Core.
    """
    moves = client.rebalance(name, reason, dry_run=dry_run)["items"]
    for move in moves:
        click.echo(line(move, dry_run=dry_run))
    if not moves:
        click.echo("No move would spread the load better.", err=True)


def line(move: dict[str, Any], *, dry_run: bool = False) -> str:
    before = ", ".join(map(clean, move["before"])) or "no Core"
    after = ", ".join(map(clean, move["after"])) or "no Core"
    return f"{clean(move['task'])} {before} -> {after}{' (dry run)' if dry_run else ''}"
