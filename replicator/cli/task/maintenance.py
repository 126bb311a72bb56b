"""Maintenance mode for `pause --maintenance` and `resume --maintenance`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from replicator.cli.task.client import Client
from replicator.cli.task.selection import Choice, chosen, for_each
from replicator.cli.terminal import clean

F = TypeVar("F", bound=Callable[..., Any])


def maintenance_options(function: F) -> F:
    function = click.option("--maintenance", is_flag=True, help="Keep the RUNNING instance and promote no standby.")(
        function
    )
    return click.option("--all", "everything", is_flag=True, help="With --maintenance: apply to all tasks.")(function)


def maintain(client: Client, choice: Choice, everything: bool, *, on: bool, reason: str) -> None:
    """Of the chosen tasks, or of all, later ones included."""
    if bool(choice) == everything:
        raise click.UsageError("Give the NAME of each task, or --all.")
    word = "on" if on else "off"
    if everything:
        client.maintain_all(on, reason)
        click.echo(f"all tasks: maintenance {word}")
        return

    def change(name: str) -> None:
        client.act(name, "maintenance", on="true" if on else "false", reason=reason)
        click.echo(f"{clean(name)}: maintenance {word}")

    for_each(chosen(client, choice), change)
