"""The connection to ZooKeeper of commands that read or write the tree themselves, as an administrator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from replicator.coordination.ports import Coordinator
from replicator.zookeeper.client import connect


@contextmanager
def connected(zookeeper: str, root: str, session_timeout: float, wait: float = 15.0) -> Iterator[Coordinator]:
    """Raises NotConnected E4001 without an answer within `wait` seconds."""
    coordinator = connect(zookeeper, session_timeout, wait)
    try:
        yield coordinator
    finally:
        coordinator.close()
