"""Values as the binary protocol sends them: protocol page "Binary Protocol Resultset Row"."""

from __future__ import annotations

import struct
from typing import TypeAlias

Moment: TypeAlias = tuple[int, int, int, int, int, int, int]
"""Year, month, day, hour, minute, second, microsecond."""
Span: TypeAlias = tuple[int, int, int, int, int, int]
"""1 if negative, days, hour, minute, second, microsecond."""


def extent(p: bytes, at: int) -> tuple[int, int]:
    """Where a value that stands behind its length begins, and where it ends."""
    size = p[at]
    if size <= 250:
        return at + 1, at + 1 + size
    start = at + 1 + (2, 3, 8)[size - 252]
    return start, start + int.from_bytes(p[at + 1 : start], "little")


def moment(raw: bytes) -> Moment:
    """Of DATE, DATETIME and TIMESTAMP. Trailing zeros are not sent."""
    year, month, day, hour, minute, second, micro = struct.unpack("<HBBBBBI", raw.ljust(11, b"\0"))
    return year, month, day, hour, minute, second, micro


def span(raw: bytes) -> Span:
    """Of TIME."""
    negative, days, hour, minute, second, micro = struct.unpack("<BIBBBI", raw.ljust(12, b"\0"))
    return negative, days, hour, minute, second, micro
