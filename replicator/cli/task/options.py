"""Options and arguments that the task commands share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from replicator.cli import contexts, jsonpath
from replicator.cli.address_types import SERVER_URL
from replicator.cli.task.client import Client, find_token
from replicator.cli.task.client_tls import tls_options
from replicator.cli.task.completion import complete_selector, complete_task
from replicator.cli.task.selection import Choice
from replicator.config.labels import EVERYTHING, Selector, parse_selector
from replicator.coordination.leadership.state import State

F = TypeVar("F", bound=Callable[..., Any])


def _server() -> str | None:
    """None for completion, which looks by itself, so that a file that can't be read disturbs no shell."""
    context = click.get_current_context(silent=True)
    return None if context is not None and context.resilient_parsing else contexts.server()


def server_options(function: F) -> F:
    """Adds --server, --token-file, --ca-file, --client-certificate and --client-key."""
    function = tls_options(function)
    function = click.option(
        "--token-file",
        type=click.Path(dir_okay=False, path_type=Path),
        help=(
            "File with the token of the Server; see also REPLICATOR_TOKEN, REPLICATOR_TOKEN_FILE and "
            "`replicator config set-context`."
        ),
    )(function)
    return click.option(
        "--server",
        envvar="REPLICATOR_SERVER",
        default=_server,
        show_default=f"that of the context, else {contexts.DEFAULT_SERVER}",
        show_envvar=True,
        type=SERVER_URL,
    )(function)


def with_client(function: F) -> Callable[..., Any]:
    """Adds --server and --token-file, and gives the command an open `client`."""

    @server_options
    @functools.wraps(function)
    def opened(*args: Any, server: str, token_file: Path | None, **kwargs: Any) -> Any:
        with Client(server, find_token(token_file, server)) as client:
            return function(*args, client=client, **kwargs)

    return opened


def _not_empty(_ctx: click.Context, _param: click.Parameter, value: Any) -> Any:
    """An empty name is a shell variable without a value: never all tasks, and no task either."""
    if any(not name.strip() for name in ([value] if isinstance(value, str) else value or ())):
        raise click.BadParameter("The name of a task is empty.")
    return value


name_argument = click.argument("name", shell_complete=complete_task, callback=_not_empty)


def _selector(_ctx: click.Context, _param: click.Parameter, value: str | None) -> Selector:
    return EVERYTHING if value is None else parse_selector(value)


selector_option = click.option(
    "-l",
    "--selector",
    callback=_selector,
    metavar="SELECTOR",
    shell_complete=complete_selector,
    help="Only tasks with these labels: env=prod, env!=prod, 'env in (a,b)', env, '!env'; a comma means and.",
)


def choice_options(function: F) -> Callable[..., Any]:
    """Adds names and quoted patterns, --state and --selector, and gives the command a `choice`; see `selection`."""

    @click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_task, callback=_not_empty)
    @click.option(
        "--state",
        "states",
        type=click.Choice(sorted(state.value for state in State)),
        multiple=True,
        help="Only tasks in this state; may be repeated. Without NAME: all tasks in it.",
    )
    @selector_option
    @functools.wraps(function)
    def chosen(*args: Any, names: tuple[str, ...], states: tuple[str, ...], selector: Selector, **kwargs: Any) -> Any:
        return function(*args, choice=Choice(names, states, selector), **kwargs)

    return chosen


reason_option = click.option("--reason", default="", help="Recorded in the history of the task.")


class OutputType(click.Choice[str]):
    """One of the kinds; with `json` also `jsonpath=PATH`, which shows parts of the same answer."""

    def __init__(self, kinds: Sequence[str]) -> None:
        super().__init__([*kinds, jsonpath.PREFIX] if "json" in kinds else kinds)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value)
        if not text.startswith(jsonpath.PREFIX) or jsonpath.PREFIX not in self.choices:
            return str(super().convert(value, param, ctx))
        try:
            jsonpath.check(text)
        except ValueError as error:
            self.fail(f"{error}. Wanted: a path such as jsonpath='{{.items[*].name}}'", param, ctx)
        return text


def output_option(*kinds: str) -> Callable[[F], F]:
    paths = (
        " jsonpath=PATH prints parts of the JSON: '{.items[*].name}' or '$.items[*].name'." if "json" in kinds else ""
    )
    return click.option(
        "-o",
        "--output",
        type=OutputType(kinds),
        default=kinds[0],
        show_default=True,
        help=f"Output format.{paths}",
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
