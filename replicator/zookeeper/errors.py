"""Converts kazoo's exceptions to coordination errors."""

from __future__ import annotations

from kazoo import exceptions as kazoo
from kazoo.handlers.threading import KazooTimeoutError

from replicator.errors import (
    CoordinationError,
    NodeExists,
    NodeMissing,
    NotConnected,
    SessionLost,
    VersionConflict,
)

LOST = (kazoo.SessionExpiredError, kazoo.SessionMovedError)
UNKNOWN = (
    KazooTimeoutError,
    kazoo.ConnectionLoss,
    kazoo.ConnectionDropped,
    kazoo.ConnectionClosedError,
    kazoo.OperationTimeoutError,
    kazoo.CancelledError,
)
REFUSED = (kazoo.NoAuthError, kazoo.AuthFailedError, kazoo.InvalidACLError)
SKIPPED = (kazoo.RolledBackError, kazoo.RuntimeInconsistency)
"""Results of those operations of a multi that were not to blame."""


def translate(error: BaseException, path: str, found: str = "") -> CoordinationError:
    """The error of ours for one of kazoo's.

    Args:
        path: the node that the request was about.
        found: what else is known, e.g. the index of the operation in a multi.
    """
    if isinstance(error, LOST):
        return SessionLost("E4003", f"the session ended during a request for {path}", found=found)
    if isinstance(error, kazoo.NoNodeError):
        return NodeMissing("E4004", f"{path} does not exist", found=found)
    if isinstance(error, kazoo.NodeExistsError):
        return NodeExists("E4005", f"{path} already exists", found=found)
    if isinstance(error, kazoo.NotEmptyError):
        return NodeExists("E4005", f"{path} has children", found=found)
    if isinstance(error, kazoo.BadVersionError):
        return VersionConflict("E4006", f"{path} was changed by another process", found=found)
    if isinstance(error, REFUSED):
        return CoordinationError("E4007", f"ZooKeeper refuses access to {path}", found=found)
    if isinstance(error, UNKNOWN):
        shown = "; ".join(part for part in (found, type(error).__name__) if part)
        return NotConnected("E4002", f"a request for {path} got no answer", found=shown)
    return CoordinationError(
        "E4002",
        f"ZooKeeper refuses a request for {path}",
        found=f"{found} {type(error).__name__} {error}".strip(),
        fix="Check the log of the ZooKeeper servers and the root znode; then repeat the command.",
    )
