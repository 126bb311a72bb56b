"""`replicator alert routes` and `test`: the file of routes, read and tried on the host of the Monitor."""

from __future__ import annotations

import time
from pathlib import Path

import click

from replicator.alerts.durations import written
from replicator.cli.task import render
from replicator.cli.task.options import output_option
from replicator.cli.terminal import clean, table
from replicator.errors import ProcessError

_file = click.option(
    "--alert-routes",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="REPLICATOR_ALERT_ROUTES",
    show_envvar=True,
    required=True,
    help="The file of routes, as the Monitor reads it.",
)


@click.command("routes")
@_file
@output_option("table", "tsv", "json", "yaml", "name")
def routes(file: Path, output: str) -> None:
    """Check a file of routes, and list what is in it. Nothing is sent."""
    from replicator.alerts.route import shown_address
    from replicator.alerts.route_file import load

    found = load(file)
    if render.is_structured(output):
        items = [
            {
                "name": one.name,
                "kind": one.kind,
                "to": shown_address(one),
                "match": {key: list(values) for key, values in one.match.items()},
                "continue": one.goes_on,
                "group_by": list(one.group_by),
                "group_wait_s": one.group_wait_s,
                "group_interval_s": one.group_interval_s,
                "repeat_interval_s": one.repeat_s,
            }
            for one in found
        ]
        click.echo(render.structured({"apiVersion": "v1", "kind": "AlertRoutes", "items": items}, output), nl=False)
    elif output == "name":
        click.echo("".join(f"{one.name}\n" for one in found), nl=False)
    else:
        write = render.tab_separated if output == "tsv" else table
        rows = []
        for one in found:
            match = " ".join(f"{key}={'|'.join(values)}" for key, values in one.match.items()) or "all"
            rows.append([one.name, one.kind, clean(shown_address(one)), clean(match), written(one.repeat_s)])
        click.echo(write(["ROUTE", "KIND", "TO", "ALERTS", "REPEAT"], rows, heading=True), nl=False)


@click.command("test")
@click.argument("route")
@_file
def test(route: str, file: Path) -> None:
    """Send a test message, and its end, to ROUTE, from this host. Exit status 1 if it is not accepted."""
    from replicator.alerts.delivery import deliver
    from replicator.alerts.route_file import load
    from replicator.alerts.trial import trial

    found = load(file)
    wanted = next((one for one in found if one.name == route), None)
    if wanted is None:
        names = ", ".join(one.name for one in found)
        raise ProcessError("E5184", f"there is no route '{route[:64]}'", wanted=names)
    for message in trial(wanted.name, int(time.time() * 1000)):
        deliver(wanted, message)
    click.echo(f"{wanted.name}: accepted a test message and its end", err=True)
