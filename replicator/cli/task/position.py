"""`replicator task position`: shows or sets the position of a task."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

import click

from replicator.cli.lazy import SuggestingGroup
from replicator.cli.task import render
from replicator.cli.task.ask import confirmation_options, confirmed
from replicator.cli.task.client import Client
from replicator.cli.task.options import name_argument, output_option, reason_option, with_client
from replicator.cli.terminal import clean, fitting, table, width
from replicator.errors import ProcessError

_MEANINGS = {"show": "get", "list": "history", "ls": "history", "reset": "set", "move": "set"}


@click.group("position", cls=SuggestingGroup, meanings=_MEANINGS)
def command() -> None:
    """Show or set the position of a task."""


@command.command("get")
@name_argument
@output_option("text", "json", "yaml")
@with_client
def get(name: str, output: str, client: Client) -> None:
    """Show the position of NAME: binlog file and offset, executed GTID set."""
    task = client.task(name)
    shown = {key: task[key] for key in ("name", "state", "position", "gtid", "epoch", "rows", "checkpoint_ms")}
    if output != "text":
        click.echo(render.structured(shown, output), nl=False)
        return
    click.echo(f"{'Position:':<12}{clean(task['position']) or '-'}")
    click.echo(f"{'GTID:':<12}{clean(task['gtid']) or '-'}")
    click.echo(
        f"{'Checkpoint:':<12}{render.age(task['checkpoint_ms'])} ago" if task["checkpoint_ms"] else "Checkpoint: -"
    )


@command.command("history")
@name_argument
@output_option("table", "json", "yaml")
@with_client
def history(name: str, output: str, client: Client) -> None:
    """Show earlier positions of NAME: one per minute for a day, one per hour for a month."""
    answer = client.positions(name)
    if output != "table":
        click.echo(render.structured(answer, output), nl=False)
        return
    header = ["TIME", "POSITION", "ROWS", "GTID"]
    rows = [
        [render.moment(one["time_ms"]), clean(one["position"]), str(one["rows"]), clean(one["gtid"]) or "-"]
        for one in answer["items"]
    ]
    kept = fitting(header, rows, ["TIME", "POSITION", "ROWS", "GTID"], width())
    click.echo(table([header[i] for i in kept], [[row[i] for i in kept] for row in rows]), nl=False)


@command.command("set")
@name_argument
@click.option("--file", default="", metavar="FILE", help="Binlog file; requires --offset.")
@click.option("--offset", type=click.IntRange(4), help="Byte offset at which a transaction starts.")
@click.option(
    "--gtid", default="", metavar="SET", help="Executed GTID set: exactly these transactions count as delivered."
)
@click.option(
    "--offsets",
    default="",
    metavar="TOPIC:OFFSET[,...][;...]",
    help="Of a task whose source is topics: next offset of each partition, for all topics.",
)
@click.option(
    "--at",
    default="",
    metavar="TIME",
    help="The position of the task at a time, such as '2026-11-20 03:00' (see `position history`).",
)
@click.option(
    "--latest",
    "begin",
    flag_value="latest",
    help="The end of the source's log at the moment when the task continues.",
)
@click.option("--earliest", "begin", flag_value="earliest", help="The beginning of what the source still has.")
@click.option(
    "--transaction-start",
    is_flag=True,
    help=(
        "Start of the transaction at the current position: all of it is sent again, whatever position the sink holds."
    ),
)
@reason_option
@click.option("--dry-run", is_flag=True, help="Only show what would be sent again or never be sent.")
@confirmation_options
@with_client
def set_(
    name: str,
    file: str,
    offset: int | None,
    gtid: str,
    offsets: str,
    at: str,
    begin: str | None,
    transaction_start: bool,
    reason: str,
    dry_run: bool,
    yes: bool,
    no_input: bool,
    client: Client,
) -> None:
    """Set the position from which NAME continues. The task must be paused, failed, or without any Core.

    Shows what would be sent again or never be sent, and asks for confirmation. Exit status is 4 while the task runs.

    The Server does not connect to sources: whether the source has the position shows when the task resumes. For a place
    in the binlog, `replicator check -f TASK.yaml --position FILE:OFFSET` tests it before, on a host with the task's
    secrets.
    """
    by_file = bool(file) and offset is not None
    ways = (by_file, bool(gtid), bool(offsets), bool(at), bool(begin), transaction_start)
    if sum(ways) != 1 or bool(file) != (offset is not None):
        raise click.UsageError(
            "give one of: --file with --offset, --gtid, --offsets, --at, --latest, --earliest, --transaction-start"
        )
    target = {"file": file, "offset": "" if offset is None else str(offset), "gtid": gtid, "at": at, "reason": reason}
    if offsets:
        target["offsets"] = offsets
    if begin:
        target["begin"] = begin
    if transaction_start:
        target["transaction_start"] = "true"
    preview = client.set_position(name, target, dry_run=True)
    for line in (*_preview(preview), *_unchecked(name, target)):
        click.echo(line, err=not dry_run)
    if dry_run:
        return
    if not yes and not confirmed("Set it?", no_input=no_input):
        raise ProcessError("E5007", f"the position of '{name}' was not set: not confirmed", fix="Answer y, or give -y.")
    client.set_position(name, target, dry_run=False)
    click.echo(f"{clean(name)} position set to {clean(preview['after']['position'])}")
    _next_step(client, name)


def _next_step(client: Client, name: str) -> None:
    task = client.task(name)
    if task["state"] == "failed":
        click.echo(f"now: replicator task retry {shlex.quote(clean(name))}", err=True)
    elif task["desired"] == "paused":
        click.echo(f"now: replicator task resume {shlex.quote(clean(name))}", err=True)


def _unchecked(name: str, target: dict[str, str]) -> Iterator[str]:
    """What nobody has asked the source for. Earlier positions of the task were there once."""
    file, offset = target["file"], target["offset"]
    label = f"{'Not checked:':<14}"
    if file:
        yield f"{label}whether {clean(file)} exists at the source and a transaction begins at byte {offset}."
        check = f"replicator check -f TASK.yaml --position {clean(file)}:{offset}"
        yield f"{'':<14}On a host with the task's secrets: {check}"
    elif target["gtid"]:
        yield f"{label}whether the source has executed this set, and still has all transactions after it."
    elif target.get("offsets"):
        yield f"{label}whether the topics have these offsets."
    else:
        return
    yield f"{'':<14}A wrong one stops the task when it resumes (FAILED): replicator task describe {clean(name)}"


def _preview(moved: dict[str, Any]) -> Iterator[str]:
    before, after = moved["before"], moved["after"]
    yield f"{'From:':<14}{clean(before['position']) if before else 'no position yet'}"
    yield f"{'To:':<14}{clean(after['position'])}" + (f", {clean(after['gtid'])}" if after["gtid"] else "")
    if moved["direction"] == "unknown" and after["position"] != "earliest":
        yield "The two positions can't be compared."
    if moved["repeats"]:
        yield click.style(f"{'Sent again:':<14}{clean(moved['repeats'])}", fg="yellow")
    if moved["skips"]:
        yield click.style(f"{'NEVER sent:':<14}{clean(moved['skips'])}", fg="red")
