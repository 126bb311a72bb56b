"""Addresses in configurations: `host:port`, and `[address]:port` for IPv6."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

Address: TypeAlias = tuple[str, int]


def addresses(texts: Iterable[str]) -> tuple[Address, ...]:
    """Host and port of each; what has no host or no number is left out: a configuration of it was refused before, or is
    refused by whoever connects."""
    found = []
    for text in texts:
        host, _, port = str(text).rpartition(":")
        if host and port.isdigit():
            found.append((host.strip("[]"), int(port)))
    return tuple(found)
