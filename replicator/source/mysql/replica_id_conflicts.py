"""Finds other readers of the binlog with the same replica id."""

from __future__ import annotations

import contextlib
from typing import Any

from replicator.errors import ReplicatorError
from replicator.mysql.session import Session


def describe_other_replicas(session: Session, server_id: int) -> str:
    """What the server knows of the replica that has our id, "" when nothing: the host that it registered with, and the
    addresses of connections that send a binlog (those need PROCESS)."""
    parts: list[str] = []
    with contextlib.suppress(ReplicatorError):
        parts += [f"registered as '{row[1]}'" for row in _replicas(session) if int(row[0]) == server_id and row[1]]
    with contextlib.suppress(ReplicatorError):
        dumps = [str(row[2]) for row in session.rows("SHOW PROCESSLIST") if str(row[4]).startswith("Binlog Dump")]
        if dumps:
            parts.append(f"its binlog is sent to {', '.join(dumps[:5])}")
    return "; ".join(parts)


def _replicas(session: Session) -> list[tuple[Any, ...]]:
    if session.refusal("SHOW REPLICAS"):
        return session.rows("SHOW SLAVE HOSTS")
    return session.rows("SHOW REPLICAS")
