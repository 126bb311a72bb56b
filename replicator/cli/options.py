"""Options that several commands share, with the same name and help text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from replicator.cli.address_types import ZOOKEEPER
from replicator.coordination.layout import DEFAULT_ROOT
from replicator.coordination.ports import DEFAULT_SESSION_TIMEOUT

F = TypeVar("F", bound=Callable[..., Any])


def zookeeper(meaning: str = "Requested session timeout in seconds.") -> Callable[[F], F]:
    """--zookeeper, --root and --session-timeout of a process; `meaning`: of the timeout."""

    def add(command: F) -> F:
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
