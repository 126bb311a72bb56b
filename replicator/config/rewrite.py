r"""Rewrites names with a regular expression and its groups: `orders_(\d+)` -> `orders_$1`."""

from __future__ import annotations

import re
from typing import Final

from replicator.errors import ConfigError

_GROUP: Final = re.compile(r"\$(\d)|\$\{(\w+)\}|\$")
LONGEST: Final = 500


def pattern(text: str) -> re.Pattern[str]:
    """A regular expression of Python. Raises ConfigError E1003."""
    if len(text) > LONGEST:
        raise ConfigError(
            "E1003", "a regular expression is too long", found=f"{len(text)} characters", wanted=f"up to {LONGEST}"
        )
    try:
        return re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise ConfigError(
            "E1003", f"invalid regular expression: {error}", found=repr(text[:60]), wanted=r"shop\.orders_(\d+)"
        ) from None


def check(match: str, template: str) -> None:
    """Raises ConfigError E1003 for a group that `match` does not have."""
    known = pattern(match)
    for found in _GROUP.finditer(template):
        number, name = found.groups()
        there = int(number) <= known.groups if number else name in known.groupindex
        if not there:
            raise ConfigError(
                "E1003",
                f"{found[0]} is not a group of the regular expression",
                found=repr(match[:60]),
                wanted=f"$0 to ${known.groups}" + "".join(f", ${{{key}}}" for key in known.groupindex),
            )


def expand(match: re.Match[str], template: str) -> str:
    """`template` with $0 to $9 and ${name} replaced by what the groups found, "" for one that took no part."""
    return _GROUP.sub(lambda found: match[int(found[1]) if found[1] else found[2]] or "", template)
