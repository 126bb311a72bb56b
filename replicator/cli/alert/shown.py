"""`replicator alert ls`, `describe` and `rules`: what a Monitor says of alerts."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from replicator.alerts.durations import spoken, written
from replicator.alerts.rule import Rule
from replicator.cli.address_types import SERVER_URL
from replicator.cli.alert.monitor import found, with_alerts
from replicator.cli.task import render
from replicator.cli.task.options import output_option, server_options
from replicator.cli.terminal import clean, table
from replicator.errors import ProcessError

_COLOURS = {"critical": "red", "warning": "yellow"}


@click.command("ls")
@click.option("--task", default="", help="Only alerts of this task.")
@click.option("--all", "everything", is_flag=True, help="Also pending alerts, and those that have ended.")
@output_option("table", "tsv", "json", "yaml")
@with_alerts
def ls(task: str, everything: bool, output: str, alerts: dict[str, Any]) -> None:
    """List the alerts that are firing, the worst first; silenced ones last. Exit status 0 also when alerts fire."""
    states = ("firing", "pending", "past") if everything else ("firing",)
    if task:
        for state in states:
            alerts[state] = [one for one in alerts[state] if one["of"] == "task" and one["name"] == task]
    if render.is_structured(output):
        click.echo(render.structured(alerts, output), nl=False)
        return
    rows = [_row(one, state) for state in states for one in alerts[state]]
    if rows:
        write = render.tab_separated if output == "tsv" else table
        click.echo(write(["SEVERITY", "STATE", "ALERT", "OF", "FOR", "SUMMARY"], rows, heading=True), nl=False)
    else:
        click.echo("No alert is firing.", err=True)
    problem = alerts["sender"]["problem"]
    if problem:
        click.echo(f"{alerts['sender']['code']} Messages are not sent: {clean(problem)}", err=True)


def _row(one: dict[str, Any], state: str) -> list[str]:
    if state == "past":
        how, since = one["how"], (one["ended_ms"] - one["fired_ms"]) / 1000
    else:
        how = "silenced" if one["silenced_by"] else "unknown" if one["unknown_ms"] else state
        since = time.time() - (one["fired_ms"] or one["since_ms"]) / 1000
    severity = click.style(one["severity"], fg=_COLOURS.get(one["severity"]))
    name = clean(one["name"] or "-")
    return [severity, how, clean(one["rule"]), name, spoken(max(since, 0)), clean(one["summary"])]


@click.command("describe")
@click.argument("rule")
@output_option("text", "json", "yaml")
@with_alerts
def describe(rule: str, output: str, alerts: dict[str, Any]) -> None:
    """Show a rule, its alerts, and what to do about them."""
    rules_ = [one for one in alerts["rules"] if one["name"] == rule]
    if not rules_:
        raise _unknown(rule, alerts)
    mine = {key: [one for one in alerts[key] if one["rule"] == rule] for key in ("firing", "pending", "past")}
    if render.is_structured(output):
        click.echo(render.structured({"rule": rules_[0], **mine}, output), nl=False)
        return
    one = rules_[0]
    click.echo(
        f"Rule:       {one['name']} ({one['severity']}{', from the file of the Monitor' if one['changed'] else ''})"
    )
    click.echo(f"Of:         {one['of']}{' with ' + clean(one['tasks']) if one['tasks'] else ''}")
    click.echo(f"Condition:  {clean(one['when'])}")
    click.echo(f"For:        {written(one['for_s'])}, kept for {written(one['keep_s'])}")
    if one["runbook"]:
        click.echo(f"Runbook:    {clean(one['runbook'])}")
    for key, heading in (("firing", "Firing"), ("pending", "Pending"), ("past", "Ended")):
        if mine[key]:
            click.echo(f"\n{heading}:")
            rows = [_row(each, key) for each in mine[key][:20]]
            click.echo(table(["OF", "STATE", "FOR", "SUMMARY"], [[r[3], r[1], r[4], r[5]] for r in rows]), nl=False)
    if not any(mine.values()):
        click.echo("\nIt has no alert, and had none.")


@click.command("rules")
@click.option(
    "--check",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Read this file with the shipped rules, as --alert-rules of the Monitor does, and ask no Monitor.",
)
@click.option("--shipped", "only_shipped", is_flag=True, help="The shipped rules; ask no Monitor.")
@click.option("--monitor", envvar="REPLICATOR_MONITOR", show_envvar=True, type=SERVER_URL, help="Address of a Monitor.")
@output_option("table", "tsv", "json", "yaml", "name")
@server_options
def rules(
    file: Path | None, only_shipped: bool, output: str, monitor: str | None, server: str, token_file: Path | None
) -> None:
    """List the alert rules of a Monitor, or of a file."""
    from replicator.alerts.rule_file import load, shipped

    if file is not None or only_shipped:
        items = [_of_rule(rule) for rule in (load(file) if file is not None else shipped())]
    else:
        items = found(monitor, server, token_file)["rules"]
    if render.is_structured(output):
        click.echo(render.structured({"apiVersion": "v1", "kind": "AlertRules", "items": items}, output), nl=False)
    elif output == "name":
        click.echo("".join(f"{one['name']}\n" for one in items), nl=False)
    else:
        write = render.tab_separated if output == "tsv" else table
        rows = [[one["severity"], one["name"], one["of"], written(one["for_s"]), clean(one["when"])] for one in items]
        click.echo(write(["SEVERITY", "RULE", "OF", "FOR", "CONDITION"], rows, heading=True), nl=False)


def _of_rule(rule: Rule) -> dict[str, Any]:
    keys = ("name", "of", "when", "for_s", "keep_s", "severity", "summary", "runbook", "tasks")
    return {**{key: getattr(rule, key) for key in keys}, "changed": not rule.shipped}


def _unknown(rule: str, alerts: dict[str, Any]) -> ProcessError:
    near = [one["name"] for one in alerts["rules"] if rule.lower() in one["name"].lower()]
    return ProcessError("E5184", f"there is no alert rule '{rule[:64]}'", wanted=", ".join(near[:5]))
