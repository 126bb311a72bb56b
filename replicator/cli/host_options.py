"""Options of every command that runs or checks tasks: the resources of this host that tasks may use."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from replicator.cli.address_types import OUTGOING
from replicator.cli.options import F
from replicator.config import cluster_keys
from replicator.host import access

_DIRECTORY = click.Path(file_okay=False, path_type=Path)


def host_access(files: str = "file sinks are refused") -> Callable[[F], F]:
    """--secrets-directory, --secrets-env-prefix, --commands-directory, --allow-outgoing, --file-sink-directory. They go
    into the environment, where this process and those that it starts find them. `files`: what holds without the last
    one."""

    def add(command: F) -> F:
        for option in (
            _option(
                "--file-sink-directory",
                access.FILE_SINK_DIRECTORY,
                f"Directory that sinks of type file may write to; default: {files}.",
                type=_DIRECTORY,
            ),
            cluster_key,
            allow_outgoing,
            _option(
                "--commands-directory",
                access.COMMANDS_DIRECTORY,
                "Directory of programs that tasks may run (sasl.token_command); repeatable; default: none.",
                multiple=True,
                type=_DIRECTORY,
            ),
            _option(
                "--secrets-env-prefix",
                access.SECRETS_ENV_PREFIX,
                "Prefix of the variables that `env:` secrets may name; repeatable; * allows any; default: "
                f"{access.DEFAULT_ENV_PREFIX}",
                multiple=True,
                metavar="PREFIX",
            ),
            _option(
                "--secrets-directory",
                access.SECRETS_DIRECTORY,
                f"Directory of `file:` secrets and TLS files; repeatable; default: {access.DEFAULT_SECRETS_DIRECTORY}",
                multiple=True,
                type=_DIRECTORY,
            ),
        ):
            command = option(command)
        return command

    return add


def _option(name: str, variable: str, meaning: str, **more: Any) -> Callable[[F], F]:
    def keep(context: click.Context, option: click.Parameter, value: Any) -> None:
        if isinstance(value, Path):
            os.environ[variable] = str(value.absolute())
        elif value:
            paths = any(isinstance(each, Path) for each in value)
            os.environ[variable] = (os.pathsep if paths else " ").join(
                str(each.absolute()) if paths else each for each in value
            )

    return click.option(
        name, envvar=variable, show_envvar=True, expose_value=False, callback=keep, help=meaning, **more
    )


allow_outgoing = _option(
    "--allow-outgoing",
    access.ALLOW_OUTGOING,
    "Hosts or networks that tasks may connect to; repeatable; `none`: nowhere; default: anywhere. See "
    "`replicator docs security`.",
    multiple=True,
    type=OUTGOING,
)
"""--allow-outgoing of a process that connects to the servers of tasks, or accepts their configurations."""

cluster_key = _option(
    "--cluster-key-file",
    cluster_keys.VARIABLE,
    "File with the keys of `sealed:` secrets, mode 0600; see `replicator cluster new-key`.",
    type=click.Path(dir_okay=False, path_type=Path),
)
"""--cluster-key-file of a process that seals or opens secrets."""
