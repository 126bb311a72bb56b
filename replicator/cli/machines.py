"""`replicator machines`: lists the machines that run Cores, with their vitals and tasks."""

from __future__ import annotations

import time
from typing import Any

import click

from replicator.cli.listing import fitted, show
from replicator.cli.task import render
from replicator.cli.task.client import Client
from replicator.cli.task.options import output_option, with_client
from replicator.cli.terminal import clean

_COLUMNS = ("HOST", "REPORT", "RUNNING", "STANDBY", "OTHER", "LOAD", "MEMORY", "CORE", "UP", "VERSION")
_IMPORTANCE = ("HOST", "RUNNING", "REPORT", "STANDBY", "LOAD", "MEMORY", "OTHER", "CORE", "UP", "VERSION")
_SILENT = 5.0
"""Seconds without a report after which a Core that should report once a second is shown in red."""


@click.command("machines")
@output_option("table", "wide", "tsv", "json", "yaml", "name")
@click.option("--no-headers", is_flag=True, help="Print no header line.")
@with_client
def command(output: str, no_headers: bool, client: Client) -> None:
    """List the machines whose Cores are online: time since the last report, number of tasks by role, load, memory.

    `-o wide` names the tasks. A machine whose Core has ended or lost ZooKeeper is not in the list.
    """
    show(
        client.machines(),
        output,
        lambda items: text(items, output, heading=not no_headers),
        "No Core is online. Start one: replicator core --zookeeper ...",
    )


def text(items: list[dict[str, Any]], output: str, *, heading: bool = True) -> str:
    header = [*_COLUMNS, "TASKS"] if output in ("wide", "tsv") else list(_COLUMNS)
    rows = [[*_row(item), *([_tasks(item)] if output in ("wide", "tsv") else [])] for item in items]
    if output == "tsv":
        return render.tab_separated(header, rows, heading=heading)
    return fitted(header, rows, _IMPORTANCE, all_columns=output != "table", heading=heading)


def _row(item: dict[str, Any]) -> list[str]:
    states = list(item["tasks"].values())
    running, standby = states.count("running"), states.count("standby")
    report = f"{render.duration(item['age_s'])} ago"
    known = bool(item["host"])
    return [
        clean(item["name"]),
        click.style(report, fg="red") if item["age_s"] > _SILENT else report,
        str(running),
        str(standby),
        str(len(states) - running - standby),
        f"{item['load1']:.2f} of {item['cores']}" if known else "-",
        _memory(item),
        f"{item['rss_bytes'] / 1e6:.0f}MB" if known else "-",
        render.duration(time.time() - item["started_ms"] / 1000) if known else "-",
        clean(item["version"]) or "-",
    ]


def _memory(item: dict[str, Any]) -> str:
    total = item["memory_total_bytes"]
    return f"{100 * item['memory_bytes'] / total:.0f}% of {total / 1e9:.0f}GB" if total else "-"


def _tasks(item: dict[str, Any]) -> str:
    """`orders=running,prices=standby`"""
    return clean(",".join(f"{name}={state}" for name, state in sorted(item["tasks"].items()))) or "-"
