"""A request is one message: JSON, with the three standard streams. Each answer is a number: process id, exit status."""

from __future__ import annotations

import struct
from typing import Final, TypedDict

ANSWER: Final = struct.Struct("<q")
MOST_BYTES: Final = 200_000


class Request(TypedDict):
    """command: a Python script and its arguments."""

    command: list[str]
    cwd: str
    environment: dict[str, str]


def address(name: str) -> str:
    """In the abstract namespace (unix(7)): it has no file, and is gone with the process."""
    return f"\0{name}"
