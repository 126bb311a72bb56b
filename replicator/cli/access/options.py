"""Options of the commands for logins and the audit."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, TypeVar

import click

from replicator.cli.terminal import clean
from replicator.model.principal import ROLES

F = TypeVar("F", bound=Callable[..., Any])
_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_DURATION: Final = re.compile(r"(\d{1,9})([smhdw])")
FORMS: Final = "a number with s, m, h, d or w, such as 90d"

role_option = click.option(
    "--role",
    type=click.Choice(ROLES),
    default="viewer",
    show_default=True,
    help="viewer reads, operator also controls tasks, admin also creates and deletes tasks, and manages logins.",
)
selector_option = click.option(
    "--selector", default="", help="Limit the role to tasks with these labels, such as env=prod."
)


def seconds(text: str) -> int:
    """Of `90d`. Raises ValueError."""
    match = _DURATION.fullmatch(text.strip().lower())
    if match is None:
        raise ValueError(FORMS)
    return int(match[1]) * _UNITS[match[2]]


class Duration(click.ParamType[int]):
    """Seconds; `never` is 0."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        if value == "never":
            return 0
        try:
            found = seconds(value)
        except ValueError:
            self.fail(f"{clean(value)!r} is not {FORMS}, or never.", param, ctx)
        if not found:
            self.fail("The duration is 0.", param, ctx)
        return found


class Since(click.ParamType[int]):
    """A time in ms since the epoch, from a duration before now or a date."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        try:
            return int((time.time() - seconds(value)) * 1000)
        except ValueError:
            pass
        try:
            return max(0, int(datetime.fromisoformat(value).timestamp() * 1000))
        except (ValueError, OverflowError, OSError):
            self.fail(f"{clean(value)!r} is neither {FORMS} nor a date such as 2026-11-25T14:00.", param, ctx)
