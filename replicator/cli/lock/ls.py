"""`replicator lock ls`: lists locks, their holders, and who waits."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from replicator.cli import options
from replicator.cli.lock.session import session
from replicator.cli.task import render
from replicator.cli.task.options import output_option
from replicator.cli.terminal import clean, table
from replicator.coordination.recipes.overview import locks

HEADER = ["NAME", "KIND", "STATE", "TOKEN", "BY", "HOST", "PID", "SINCE"]


@click.command("ls")
@options.zookeeper()
@output_option("table", "json", "yaml", "name")
@click.option("--no-headers", is_flag=True, help="Print no header line.")
def command(zookeeper: str, root: str, session_timeout: float, output: str, no_headers: bool) -> None:
    """List the locks that processes have or wait for, in the order in which they get them."""
    with session(zookeeper, root, session_timeout) as (coordinator, layout):
        items: list[dict[str, Any]] = msgspec.to_builtins(locks(coordinator, layout))
    if output == "name":
        click.echo("".join(f"{clean(item['name'])}\n" for item in items), nl=False)
    elif output != "table":
        click.echo(render.structured({"kind": "LockList", "items": items}, output), nl=False)
    elif items:
        rows = [_row(item["name"], claim) for item in items for claim in item["claims"]]
        click.echo(table(HEADER, rows, heading=not no_headers), nl=False)
    else:
        click.echo("No process has a lock.", err=True)


def _row(name: str, claim: dict[str, Any]) -> list[str]:
    pid = str(claim["pid"] or "-")
    who = [clean(claim["by"]) or "-", clean(claim["host"]) or "-", pid, render.moment(claim["since_ms"])]
    return [clean(name), claim["kind"], claim["state"], str(claim["token"]), *who]
