"""Asks a Monitor for its alerts: the one that is named, else one that the Server lists."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from replicator.cli.address_types import SERVER_URL
from replicator.cli.task.client import Client, find_token
from replicator.cli.task.options import server_options
from replicator.errors import ProcessError, ReplicatorError

F = TypeVar("F", bound=Callable[..., Any])


def with_alerts(function: F) -> Callable[..., Any]:
    """Adds --monitor and the options of the Server, and gives the command the `alerts` of a Monitor."""

    @click.option(
        "--monitor",
        envvar="REPLICATOR_MONITOR",
        show_envvar=True,
        type=SERVER_URL,
        help="Address of a Monitor; default: one that the Server lists.",
    )
    @server_options
    @functools.wraps(function)
    def asked(*args: Any, monitor: str | None, server: str, token_file: Path | None, **kwargs: Any) -> Any:
        return function(*args, alerts=found(monitor, server, token_file), **kwargs)

    return asked


def found(monitor: str | None, server: str, token_file: Path | None) -> dict[str, Any]:
    """Raises ProcessError E5005 if no Monitor answers."""
    if monitor:
        with Client(monitor, _token(token_file, monitor)) as client:
            return client.alerts()
    token = find_token(token_file, server)
    with Client(server, token) as client:
        addresses = [one["address"] for one in client.processes()["items"] if one["type"] == "monitor"]
    failed: ReplicatorError | None = None
    for address in filter(None, addresses):
        try:
            with Client(address, token) as client:
                return client.alerts()
        except ReplicatorError as error:
            failed = error
    if failed is not None:
        raise failed
    raise ProcessError("E5005", "no Monitor is online", fix="Start `replicator monitor`, or name one with --monitor.")


def _token(token_file: Path | None, monitor: str) -> str:
    """A Monitor on a loopback address requires none."""
    try:
        return find_token(token_file, monitor)
    except ProcessError:
        if token_file is not None:
            raise
        return ""
