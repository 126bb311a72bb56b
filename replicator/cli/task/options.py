"""Options and arguments that the task commands share."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from replicator.cli.address_types import SERVER_URL
from replicator.cli.task.client import DEFAULT_SERVER, Client, find_token
from replicator.errors import ReplicatorError

F = TypeVar("F", bound=Callable[..., Any])


def server_options(function: F) -> F:
    """Adds --server and --token-file."""
    function = click.option(
        "--token-file",
        type=click.Path(dir_okay=False, path_type=Path),
        help="File with the token of the Server; see also REPLICATOR_TOKEN and REPLICATOR_TOKEN_FILE.",
    )(function)
    return click.option(
        "--server",
        envvar="REPLICATOR_SERVER",
        default=DEFAULT_SERVER,
        show_default=True,
        show_envvar=True,
        type=SERVER_URL,
    )(function)


def with_client(function: F) -> Callable[..., Any]:
    """Adds --server and --token-file, and gives the command an open `client`."""

    @server_options
    @functools.wraps(function)
    def opened(*args: Any, server: str, token_file: Path | None, **kwargs: Any) -> Any:
        with Client(server, find_token(token_file)) as client:
            return function(*args, client=client, **kwargs)

    return opened


def _complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of tasks, or nothing when the Server does not answer within a second."""
    with contextlib.suppress(ReplicatorError):
        server = ctx.params.get("server") or DEFAULT_SERVER
        with Client(server, find_token(ctx.params.get("token_file")), timeout=1.0) as client:
            names = [item["name"] for item in client.tasks()["items"]]
            return [CompletionItem(name) for name in names if name.startswith(incomplete)]
    return []


name_argument = click.argument("name", shell_complete=_complete)
optional_name_argument = click.argument("name", required=False, shell_complete=_complete)


def output_option(*kinds: str) -> Callable[[F], F]:
    return click.option(
        "-o", "--output", type=click.Choice(kinds), default=kinds[0], show_default=True, help="Output format."
    )


interval_option = click.option(
    "--interval", type=click.FloatRange(0.1, 3600), default=1.0, show_default=True, help="Seconds between requests."
)


def timeout_option(default: float) -> Callable[[F], F]:
    return click.option(
        "--timeout",
        type=click.FloatRange(0, 86400),
        default=default,
        show_default=True,
        help="Seconds to wait; exit status 7 after that time.",
    )
