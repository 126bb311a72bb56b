"""Size limit of requests to the coordinator, slightly below ZooKeeper's `jute.maxbuffer` of 1 MB. The server closes the
connection of a larger request, and all other requests on it fail; so we refuse it first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from replicator.coordination.ports import Create, Op, Set
from replicator.errors import CoordinationError

MAX_BYTES: Final = 1_000_000
_OP_BYTES: Final = 100
"""Of an operation beside path and data: header, version or ACL."""


def check_node(path: str, data: bytes) -> None:
    """Raises CoordinationError E4011."""
    if len(data) > MAX_BYTES:
        raise _too_large(f"{path} would be too large", len(data))


def check_request(ops: Sequence[Op]) -> None:
    """Raises CoordinationError E4011."""
    for op in ops:
        if isinstance(op, Create | Set):
            check_node(op.path, op.data)
    size = sum(_OP_BYTES + len(op.path) + (len(op.data) if isinstance(op, Create | Set) else 0) for op in ops)
    if len(ops) > 1 and size > MAX_BYTES:
        raise _too_large(f"a transaction of {len(ops)} operations at {ops[0].path} would be too large", size)


def _too_large(what: str, size: int) -> CoordinationError:
    return CoordinationError("E4011", what, found=f"{size} bytes", wanted=f"at most {MAX_BYTES}")
