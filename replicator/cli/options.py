"""Options that several commands share, with the same name and help text."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from replicator.cli.address_types import ZOOKEEPER
from replicator.coordination.layout import DEFAULT_ROOT
from replicator.coordination.ports import DEFAULT_SESSION_TIMEOUT

F = TypeVar("F", bound=Callable[..., Any])


def zookeeper(meaning: str = "Requested session timeout in seconds.") -> Callable[[F], F]:
    """--zookeeper, its login, --root and --session-timeout of a process; `meaning`: of the timeout."""

    def add(command: F) -> F:
        command = zookeeper_access(command)
        for option in (
            click.option(
                "--session-timeout",
                default=DEFAULT_SESSION_TIMEOUT,
                show_default=True,
                type=click.FloatRange(1, 300),
                help=meaning,
            ),
            click.option("--root", default=DEFAULT_ROOT, show_default=True, help="Root znode of the bus."),
            click.option(
                "--zookeeper",
                required=True,
                type=ZOOKEEPER,
                envvar="REPLICATOR_ZOOKEEPER",
                show_envvar=True,
            ),
        ):
            command = option(command)
        return command

    return add


def zookeeper_access(command: F) -> F:
    """Login and TLS. They go into the environment, where the process finds them (`zookeeper.access`)."""
    for name, meaning, kind in reversed(_ACCESS):
        command = click.option(
            f"--zookeeper-{name}",
            envvar=f"REPLICATOR_ZOOKEEPER_{name.replace('-', '_').upper()}",
            show_envvar=True,
            expose_value=False,
            callback=_keep,
            type=kind,
            help=meaning,
        )(command)
    return click.option(
        "--insecure-zookeeper",
        is_flag=True,
        envvar="REPLICATOR_ZOOKEEPER_INSECURE",
        show_envvar=True,
        expose_value=False,
        callback=_keep,
        help="Connect to other machines without TLS and login, and to a root without identities.",
    )(command)


_FILE = click.Path(dir_okay=False, path_type=Path)
_ACCESS: list[tuple[str, str, click.ParamType[Any]]] = [
    ("config", "File with login and TLS of ZooKeeper, mode 0600.", _FILE),
    ("login", "Kind of login.", click.Choice(["digest", "sasl"])),
    ("user", "User of the login.", click.STRING),
    ("password-file", "File with the password, mode 0600; or REPLICATOR_ZOOKEEPER_PASSWORD.", _FILE),
    ("ca", "PEM file with the authorities that sign ZooKeeper's certificates; switches TLS on.", _FILE),
    ("cert", "PEM file with the certificate of this client.", _FILE),
    ("key", "PEM file with its key, mode 0600.", _FILE),
]


def _keep(context: click.Context, option: click.Parameter, value: Any) -> None:
    variable = str(option.envvar)
    if value is True:
        os.environ[variable] = "1"
    elif isinstance(value, Path):
        os.environ[variable] = str(value.absolute())
    elif value:
        os.environ[variable] = str(value)


def listen(default: str) -> Callable[[F], F]:
    """--listen, --allowed-host and --insecure-http of a process that answers HTTP."""

    def add(command: F) -> F:
        for option in (
            click.option(
                "--insecure-http",
                is_flag=True,
                envvar="REPLICATOR_INSECURE_HTTP",
                show_envvar=True,
                help="Allow other addresses than loopback although traffic is not encrypted.",
            ),
            click.option(
                "--allowed-host",
                multiple=True,
                metavar="NAME",
                envvar="REPLICATOR_ALLOWED_HOST",
                show_envvar=True,
                help="Additional name accepted in the Host header, such as that of a proxy; repeatable.",
            ),
            click.option(
                "--listen",
                default=default,
                show_default=True,
                metavar="HOST:PORT",
                help="Address to listen on; port 0 selects a free port.",
            ),
        ):
            command = option(command)
        return command

    return add


log_format = click.option("--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
