"""Kinds of events that a Core counts over all its tasks; they are values of labels of metrics."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

FencedBy: TypeAlias = Literal["sink", "lease", "zookeeper"]
FENCED_BY: Final[tuple[FencedBy, ...]] = ("sink", "lease", "zookeeper")
"""sink: it refused a write of an ended term; lease: the lease ended before the worker did; zookeeper: it refused a
checkpoint of an ended term."""
NotWritten: TypeAlias = Literal["not_connected", "lost", "refused"]
NOT_WRITTEN: Final[tuple[NotWritten, ...]] = ("not_connected", "lost", "refused")
"""not_connected: ZooKeeper did not answer, the write is repeated; lost: the term has ended; refused: any other error,
which stops the task."""
UNSUPPORTED: Final = {
    "E2301": "event",
    "E2303": "statement",
    "E2304": "row_image",
    "E2305": "incident",
    "E2306": "metadata",
    "E2307": "value",
    "E2309": "ddl",
    "E2312": "xa",
}
"""By the code of the error: what the source has sent and the task cannot read without loss."""


def unsupported_type(code: str) -> str | None:
    """None: the error is not one of these."""
    return UNSUPPORTED.get(code)
