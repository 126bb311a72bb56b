"""Times to wait, as options."""

from __future__ import annotations

import re
from typing import Any

import click

from replicator.cli.access.options import seconds


class Wait(click.ParamType[float]):
    """Seconds; 0 asks once."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float | int):
            return float(value)
        text = str(value).strip()
        if re.fullmatch(r"\d{1,9}(\.\d{1,3})?", text):
            return float(text)
        try:
            return float(seconds(text))
        except ValueError:
            self.fail(
                f"{text[:40]!r} is not a number of seconds, or a number with s, m, h or d, such as 30s.", param, ctx
            )


wait_option = click.option("--wait", type=Wait(), help="Time to wait, such as 30s; 0 asks once. Default: no limit.")
