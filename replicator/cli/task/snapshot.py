"""`replicator task snapshot`: starts, pauses, resumes and stops snapshots of a running task, and shows them."""

from __future__ import annotations

import json
import time
from typing import Any

import click

from replicator.cli import snapshot_line, terminal
from replicator.cli.lazy import SuggestingGroup
from replicator.cli.task import render
from replicator.cli.task.client import Client
from replicator.cli.task.options import interval_option, name_argument, output_option, reason_option, with_client
from replicator.cli.terminal import clean

_BAR = 24
_MOVING = ("running", "paused")
_MEANINGS = {"show": "status", "get": "status", "list": "status", "order": "start", "cancel": "stop", "rm": "stop"}


@click.group("snapshot", cls=SuggestingGroup, meanings=_MEANINGS)
def command() -> None:
    """Deliver the rows that tables of a running task have now. Changes are replicated meanwhile.

    A task that is created with source.snapshot: initial has begun with such a snapshot.
    """


@command.command("start")
@name_argument
@click.option("--table", "tables", metavar="DATABASE.TABLE", multiple=True, required=True, help="May be repeated.")
@click.option("--where", metavar="SQL", help="Condition of the rows of each table; default: all rows.")
@click.option("--chunk-rows", type=click.IntRange(1, 1_000_000), help="Maximum number of rows of one SELECT.")
@reason_option
@with_client
def start(
    name: str, tables: tuple[str, ...], where: str | None, chunk_rows: int | None, reason: str, client: Client
) -> None:
    """Deliver the rows of some tables of NAME. The task reads them when earlier snapshots are complete.

    Consumers receive each row as of a moment of the stream, never an older state after a newer one.
    """
    task = client.start_snapshot(name, list(tables), where, chunk_rows, reason)
    asked = task["snapshot_requests"][-1]
    before = len(task["snapshot_requests"]) - 1
    more = f", after {before} other{'s' if before > 1 else ''}" if before else ""
    click.echo(f"{clean(name)} snapshot order-{asked['number']} of {clean(', '.join(asked['tables']))} ordered{more}")


def _verb(verb: str, done: str, text: str) -> None:
    @command.command(verb, help=text)
    @name_argument
    @reason_option
    @with_client
    def change(name: str, reason: str, client: Client) -> None:
        client.act(name, f"snapshot/{verb}", reason=reason)
        click.echo(f"{clean(name)} snapshot {done}")


_verb("pause", "pausing", "Read no more rows until `resume`. NAME continues to replicate changes.")
_verb("resume", "resuming", "Continue after the last row that was delivered.")
_verb("stop", "stopping", "End the snapshot of NAME and withdraw those that wait. Delivered rows stay.")


@command.command("status")
@name_argument
@output_option("text", "json")
@click.option("-w", "--watch", is_flag=True, help="Repeat until the snapshot ends; in a terminal this is the default.")
@interval_option
@with_client
def status(name: str, output: str, watch: bool, interval: float, client: Client) -> None:
    """Show the snapshot of NAME: a live bar in a terminal, lines in a pipe."""
    drawn = terminal.width() is not None and output == "text"
    seen = ""
    while True:
        task = client.task(name)
        text = _line(task) if output == "text" else _structured(task, output)
        if drawn:
            click.echo(f"\r\x1b[K{text[: (terminal.width() or 80) - 1]}", nl=False)
        elif text != seen:
            click.echo(text)
        seen = text
        if not (watch or drawn) or not _goes_on(task):
            break
        time.sleep(interval)
    if drawn:
        click.echo()


def _goes_on(task: dict[str, Any]) -> bool:
    taken = task["snapshot"] or {}
    return taken.get("state") in _MOVING or bool(task["snapshot_requests"])


def _structured(task: dict[str, Any], output: str) -> str:
    """On one line in JSON."""
    shown = {"snapshot": task["snapshot"], "requests": task["snapshot_requests"]}
    return json.dumps(shown, ensure_ascii=False) if output == "json" else render.structured(shown, output).rstrip("\n")


def _named(request: dict[str, Any]) -> str:
    version = request.get("version")
    return f"{request['number']} (tables added by version {version})" if version else str(request["number"])


def _line(task: dict[str, Any]) -> str:
    taken, requests = task["snapshot"], task["snapshot_requests"]
    waiting = [request for request in requests if not taken or f"order-{request['number']}" != taken["id"]]
    more = f"; waiting: {', '.join(map(_named, waiting))}" if waiting else ""
    if taken is None:
        return f"no snapshot has begun{more}"
    filled = _BAR * taken["percent"] // 100
    bar = f"[{'#' * filled}{'-' * (_BAR - filled)}] " if taken["state"] in _MOVING else ""
    return f"{bar}{clean(snapshot_line.with_times(taken))}{more}"
