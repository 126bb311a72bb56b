"""`replicator alert silence`, `unsilence` and `silences`."""

from __future__ import annotations

import time
from typing import Any

import click

from replicator.alerts.durations import spoken
from replicator.cli.access.options import Duration
from replicator.cli.listing import show
from replicator.cli.task import render
from replicator.cli.task.client import Client
from replicator.cli.task.completion import complete_task
from replicator.cli.task.options import output_option, with_client
from replicator.cli.terminal import clean, table

_COLUMNS = ["ID", "SILENCED", "LEFT", "BY", "REASON"]


def _labels(_ctx: click.Context, _param: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    pairs = [text.partition("=") for text in given]
    if any(not key or not sign for key, sign, _ in pairs):
        raise click.BadParameter("A label is KEY=VALUE.")
    return {key: value for key, _, value in pairs}


@click.command("silence")
@click.argument("rule", required=False, default="")
@click.option("--task", default="", shell_complete=complete_task, help="Alerts of this task.")
@click.option("--machine", default="", help="Alerts of this machine.")
@click.option("--label", "labels", multiple=True, metavar="KEY=VALUE", callback=_labels, help="May be repeated.")
@click.option("--for", "seconds", type=Duration(), required=True, help="How long, such as 2h or 3d.")
@click.option("--reason", required=True, help="Shown with the silence, and recorded in the audit.")
@output_option("text", "json", "yaml")
@with_client
def silence(
    rule: str,
    task: str,
    machine: str,
    labels: dict[str, str],
    seconds: int,
    reason: str,
    output: str,
    client: Client,
) -> None:
    """Send no messages of alerts that match RULE and all options that are given, for a time.

    Without RULE: of all rules. The Monitors still show these alerts. Requires the role operator.
    """
    wanted = {"rule": rule, "task": task, "machine": machine, "labels": labels}
    given = {key: value for key, value in wanted.items() if value}
    made = client.silence({**given, "seconds": seconds, "reason": reason})
    if render.is_structured(output):
        click.echo(render.structured(made, output), nl=False)
        return
    click.echo(clean(made["id"]))
    click.echo(
        f"Silenced for {spoken(seconds)}. End it sooner: replicator alert unsilence {clean(made['id'])}", err=True
    )


@click.command("unsilence")
@click.argument("id_", metavar="ID")
@click.option("--reason", default="", help="Recorded in the audit.")
@with_client
def unsilence(id_: str, reason: str, client: Client) -> None:
    """End the silence ID before its time."""
    client.unsilence(id_, reason)
    click.echo(f"The silence {clean(id_)} was ended.", err=True)


@click.command("silences")
@output_option("table", "tsv", "json", "yaml")
@with_client
def silences(output: str, client: Client) -> None:
    """List the silences that are in force."""
    write = render.tab_separated if output == "tsv" else table
    show(
        client.silences(),
        output,
        lambda items: write(_COLUMNS, [*map(_row, items)], heading=True),
        "Nothing is silenced.",
    )


def _row(item: dict[str, Any]) -> list[str]:
    named = [item["rule"], *(f"{key} {item[key]}" for key in ("task", "machine") if item[key])]
    texts = [text for text in named if text] + [f"{key}={value}" for key, value in item["labels"].items()]
    left = max(item["until_ms"] / 1000 - time.time(), 0)
    return [clean(item["id"]), clean(", ".join(texts)), spoken(left), clean(item["by"]), clean(item["reason"])]
