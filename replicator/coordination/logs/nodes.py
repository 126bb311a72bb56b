"""Records and nodes of requests for log lines.

A request is an ephemeral node of the process that wants the lines, and each part of an answer an ephemeral node of the
process that gives them. So nothing stays behind: a process deletes its parts when the request has gone, and what a
process that died has left goes with its session.
"""

from __future__ import annotations

import contextlib
from typing import Final

from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import Record
from replicator.errors import NodeExists

PART: Final = 340_000
"""Bytes in one node: Base64 makes 455 kB of them."""
MOST_BYTES: Final = 1 << 20
"""Of the lines of one process."""
MOST_TARGETS: Final = 16
"""Processes of one request: what is in the tree at one time is bounded."""


class LogRequest(Record, kw_only=True):
    """/logs/requests/request-SEQ. `targets`: ids of processes."""

    targets: tuple[str, ...] = ()
    by: str = ""
    time_ms: int = 0


class LogPart(Record, kw_only=True):
    """/logs/parts/REQUEST.GUID.INDEX.COUNT. `data`: of the compressed lines."""

    data: bytes


def make_parents(coordinator: Coordinator, layout: Layout) -> None:
    """In a tree without identities, or one that an earlier release has secured: there the Server makes them, also that
    of the Monitors, and others get CoordinationError E4007."""
    for path in (layout.log_requests, layout.log_parts, layout.monitors):
        with contextlib.suppress(NodeExists):
            coordinator.create(path, parents=True)
