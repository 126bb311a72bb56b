"""Maintenance mode for `pause --maintenance` and `resume --maintenance`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from replicator.cli.task.client import Client
from replicator.cli.terminal import clean

F = TypeVar("F", bound=Callable[..., Any])


def maintenance_options(function: F) -> F:
    function = click.option("--maintenance", is_flag=True, help="Keep the RUNNING instance and promote no standby.")(
        function
    )
    return click.option("--all", "everything", is_flag=True, help="With --maintenance: apply to all tasks.")(function)


def maintain(client: Client, name: str | None, everything: bool, *, on: bool, reason: str) -> None:
    """Of the task `name`, or of all."""
    if (name is None) != everything:
        raise click.UsageError("give the NAME of one task, or --all")
    if name is None:
        client.maintain_all(on, reason)
    else:
        client.act(name, "maintenance", on="true" if on else "false", reason=reason)
    click.echo(f"{clean(name) if name else 'all tasks'}: maintenance {'on' if on else 'off'}")
