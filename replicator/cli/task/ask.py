"""Questions before a command changes something. Only where they can be answered: stdin and stderr are a terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from replicator.cli.terminal import clean, interactive

F = TypeVar("F", bound=Callable[..., Any])
_CLOSED = "Standard input was closed before the question was answered; nothing was changed."


def confirmation_options(function: F) -> F:
    """Adds -y and --no-input."""
    function = click.option("--no-input", is_flag=True, help="Never ask; without -y the command is refused.")(function)
    return click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")(function)


def confirmed(question: str, *, no_input: bool, instead: str = "Give -y.") -> bool:
    """Raises UsageError where nobody can answer. `instead`: what to do there."""
    _require_answer(no_input, instead)
    return bool(_asked(lambda: click.confirm(question, err=True)))


def type_name(question: str, name: str, *, no_input: bool, instead: str) -> None:
    """Raises UsageError unless `name` is typed."""
    _require_answer(no_input, instead)
    typed = _asked(lambda: click.prompt(question, default="", show_default=False, err=True))
    if typed != name:
        raise click.UsageError(f"The name '{clean(name)}' was not typed; nothing was changed.")


def _require_answer(no_input: bool, instead: str) -> None:
    if no_input or not interactive():
        raise click.UsageError(f"Confirmation is not possible here. {instead}")


def _asked(ask: Callable[[], Any]) -> Any:
    """click raises the same for Ctrl-C and for a closed input."""
    try:
        return ask()
    except click.Abort as abort:
        if isinstance(abort.__context__, EOFError):
            click.echo(err=True)
            raise click.UsageError(_CLOSED) from None
        raise
