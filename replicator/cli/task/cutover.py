"""`replicator task cutover`: stops several tasks at one position, all of them or none."""

from __future__ import annotations

import time
from typing import Any, Final

import click

from replicator.cli.task import render
from replicator.cli.task.client import Client
from replicator.cli.task.options import choice_options, output_option, with_client
from replicator.cli.task.selection import Choice, chosen
from replicator.cli.terminal import clean, table
from replicator.errors import ProcessError

_POLL: Final = 0.2
_HEADER: Final = ["TASK", "STATE", "STOPPED AT", "PROBLEM"]
_LIST_HEADER: Final = ["ID", "PHASE", "TASKS", "BY", "BEGAN", "REASON"]
_OVER: Final = ("reached", "failed")


@click.command("cutover")
@choice_options
@click.option(
    "--at",
    type=click.Choice(["barrier"]),
    default="barrier",
    show_default=True,
    help="Where to stop: at the position of the furthest task of each source when all have paused.",
)
@click.option("--resume", is_flag=True, help="Let the tasks continue as soon as all have stopped.")
@click.option("--keep", is_flag=True, help="Leave tasks that have stopped paused when others could not stop.")
@click.option("--reason", default="", help="Recorded in the history of the tasks.")
@click.option(
    "--timeout",
    type=click.FloatRange(0.1, 86400),
    default=60.0,
    show_default=True,
    help="Seconds within which all tasks have to have stopped.",
)
@click.option("--no-wait", is_flag=True, help="Print the id and end; the Servers carry it out.")
@click.option("--dry-run", is_flag=True, help="Only show the tasks, and what prevents them from stopping together.")
@click.option("--list", "listing", is_flag=True, help="List the newest cut-overs.")
@click.option("--show", "show_id", default="", metavar="ID", help="Show a cut-over.")
@click.option("--cancel", "cancel_id", default="", metavar="ID", help="Cancel a cut-over; its tasks continue.")
@output_option("table", "json", "yaml")
@with_client
def command(
    choice: Choice,
    at: str,
    resume: bool,
    keep: bool,
    reason: str,
    timeout: float,
    no_wait: bool,
    dry_run: bool,
    listing: bool,
    show_id: str,
    cancel_id: str,
    output: str,
    client: Client,
) -> None:
    """Stop tasks together: those of one source at the same position, the others at a transaction boundary.

    All of them stop, or none: if one fails, or has not stopped within --timeout, those that were stopped continue. The
    Servers carry it out, also when this command ends. Tasks stay paused then, until they are resumed.

    Exit status is 4 if a task cannot take part or fails, 7 if not all have stopped in time; 0 for --no-wait.
    """
    asked = [bool(choice), listing, bool(show_id), bool(cancel_id)]
    if sum(asked) > 1:
        raise click.UsageError("Give tasks, or one of --list, --show and --cancel.")
    if listing:
        _print_list(client.cutovers(), output)
    elif show_id:
        _print(client.cutover(show_id), output)
    elif cancel_id:
        client.cancel_cutover(cancel_id)
        _end(_wait(client, cancel_id), output, cancelled=True)
    else:
        wanted = {"tasks": chosen(client, choice), "timeout_s": timeout, "resume": resume, "keep": keep}
        found = client.begin_cutover({**wanted, "reason": reason[:200]}, dry_run=dry_run)
        if dry_run:
            _dry_run(found, output)
        elif no_wait:
            _print(found, output) if output != "table" else click.echo(found["id"])
        else:
            click.echo(f"Cut-over {found['id']}", err=True)
            _end(_wait(client, found["id"]), output)


def _wait(client: Client, id_: str) -> dict[str, Any]:
    """Until it is over. The Servers end it at its deadline."""
    while True:
        found = client.cutover(id_)
        if found["phase"] in _OVER:
            return found
        time.sleep(_POLL)


def _dry_run(found: dict[str, Any], output: str) -> None:
    _print(found, output)
    refused = [f"{item['task']}: {item['problem']}" for item in found["tasks"] if item["problem"]]
    if refused:
        raise ProcessError("E5150", "the tasks can't be stopped together", found="; ".join(refused)[:1000])


def _end(found: dict[str, Any], output: str, *, cancelled: bool = False) -> None:
    """Raises ProcessError E5151 or E5152 for one that has failed, unless it was to be cancelled."""
    _print(found, output)
    if found["phase"] == "reached":
        then = "They continue." if found["resume"] else "They stay paused: `replicator task resume` resumes them."
        click.echo(f"All {len(found['tasks'])} tasks have stopped. {then}", err=True)
        return
    if not cancelled:
        raise ProcessError(found["code"] or "E5151", f"the cut-over {found['id']} has failed", found=found["found"])


def _print(found: dict[str, Any], output: str) -> None:
    if output != "table":
        click.echo(render.structured(found, output), nl=False)
        return
    rows = [
        [clean(item["task"]), item["state"] or "-", clean(item["reached"]) or "-", clean(item["problem"]) or "-"]
        for item in found["tasks"]
    ]
    click.echo(table(_HEADER, rows), nl=False)


def _print_list(found: dict[str, Any], output: str) -> None:
    if output != "table":
        click.echo(render.structured(found, output), nl=False)
    elif found["items"]:
        rows = [
            [
                item["id"],
                item["phase"],
                str(len(item["tasks"])),
                clean(item["by"]),
                render.moment(item["began_ms"]),
                clean(item["reason"]) or "-",
            ]
            for item in found["items"]
        ]
        click.echo(table(_LIST_HEADER, rows), nl=False)
    else:
        click.echo("There were no cut-overs.", err=True)
