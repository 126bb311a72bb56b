"""Prints the logins that a Server has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from replicator.cli.task import render
from replicator.cli.terminal import clean, table


def show(
    answer: dict[str, Any],
    output: str,
    header: Sequence[str],
    row: Callable[[dict[str, Any]], list[str]],
    *,
    heading: bool,
    none: str,
) -> None:
    """`output`: table, json, yaml or name; `none`: what to say where a table would be empty."""
    if output in ("json", "yaml"):
        click.echo(render.structured(answer, output), nl=False)
    elif output == "name":
        click.echo("".join(f"{clean(item['name'])}\n" for item in answer["items"]), nl=False)
    elif answer["items"]:
        click.echo(table(list(header), [row(item) for item in answer["items"]], heading=heading), nl=False)
    else:
        click.echo(none, err=True)
