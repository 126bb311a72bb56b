"""The connection to ZooKeeper of commands that read or write the tree themselves, as an administrator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.coordination.rights import Guard
from replicator.zookeeper import access
from replicator.zookeeper.client import connect


@contextmanager
def connected(zookeeper: str, root: str, session_timeout: float, wait: float = 15.0) -> Iterator[Coordinator]:
    """With the login of the environment, where the options of `options.zookeeper` put it. Nodes get the ACLs of the
    tree's identities.

    Raises NotConnected E4001 without an answer within `wait` seconds, and when login or TLS are refused; ConfigError
    E4034, E4036.
    """
    login = access.of_environment()
    access.require_secured(zookeeper, login)
    guard = Guard(Layout(root), "admin", required=login.has_identity and not login.insecure)
    coordinator = connect(zookeeper, session_timeout, wait, login, guard)
    try:
        yield coordinator
    finally:
        coordinator.close()
