"""Prints a list that the Server has answered, in the form that --output names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from replicator.cli.task import render
from replicator.cli.terminal import clean, fitting, table, width

Items = list[dict[str, Any]]


def show(answer: dict[str, Any], output: str, text: Callable[[Items], str], empty: str) -> None:
    """`text`: of the items, for people and for tsv; `empty`: what to do where there are none."""
    items = answer["items"]
    if render.is_structured(output):
        click.echo(render.structured(answer, output), nl=False)
    elif output == "name":
        click.echo("".join(f"{clean(item['name'])}\n" for item in items), nl=False)
    elif items:
        click.echo(text(items), nl=False)
    else:
        click.echo(empty, err=True)


def fitted(
    header: Sequence[str], rows: Sequence[Sequence[str]], importance: Sequence[str], *, all_columns: bool, heading: bool
) -> str:
    """A table. In a terminal the least important columns are left out until a row fits; in a pipe nothing is."""
    kept = fitting(header, rows, importance, None if all_columns else width())
    return table([header[i] for i in kept], [[row[i] for i in kept] for row in rows], heading=heading)
