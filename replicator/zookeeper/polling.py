"""`select` over `poll`, for a few sockets: kazoo asks several times a request, and its own builds a selector each time.

`select.select` would refuse file descriptors above 1023, which a Core with many workers has.
"""

from __future__ import annotations

import math
import select
from collections.abc import Sequence
from typing import Any, TypeAlias

Ready: TypeAlias = tuple[list[Any], list[Any], list[Any]]


def ready(readable: Sequence[Any], writable: Sequence[Any], timeout: float | None) -> Ready:
    """As `select.select` without a third list; `timeout` in seconds, None: without end.

    A socket in trouble counts as ready, so that the read or write that follows raises why. Raises TypeError for a
    socket that is closed, as kazoo's does.
    """
    asked: dict[int, int] = {}
    for events, sockets in ((select.POLLIN, readable), (select.POLLOUT, writable)):
        for one in sockets:
            number = one if isinstance(one, int) else one.fileno()
            if number < 0:
                raise TypeError(f"Invalid file descriptor: {number}")
            asked[number] = asked.get(number, 0) | events
    poll = select.poll()
    for number, events in asked.items():
        poll.register(number, events)
    found = dict(poll.poll(None if timeout is None else math.ceil(timeout * 1000)))
    if not found:
        return [], [], []
    return _among(readable, found, ~select.POLLOUT), _among(writable, found, ~select.POLLIN), []


def _among(sockets: Sequence[Any], found: dict[int, int], events: int) -> list[Any]:
    return [one for one in sockets if found.get(one if isinstance(one, int) else one.fileno(), 0) & events]
