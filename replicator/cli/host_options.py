"""Options of every command that runs or checks tasks: what their configurations may use of this host."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import click

from replicator.cli.options import F
from replicator.host import access


def file_sinks(default: str = "tasks may not write files") -> Callable[[F], F]:
    """--file-sink-directory. `default`: what holds without it, for the help."""
    return click.option(
        "--file-sink-directory",
        type=click.Path(file_okay=False, path_type=Path),
        envvar=access.FILE_SINK_DIRECTORY,
        show_envvar=True,
        expose_value=False,
        callback=_keep(access.FILE_SINK_DIRECTORY),
        help=f"Sinks of type file write below it; default: {default}.",
    )


def _keep(variable: str) -> Callable[[click.Context, click.Parameter, Path | None], Path | None]:
    """Into the environment, where this process and those that it starts find it."""

    def keep(context: click.Context, option: click.Parameter, value: Path | None) -> Path | None:
        if value is not None:
            os.environ[variable] = str(value.absolute())
        return value

    return keep
