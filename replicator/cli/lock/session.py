"""The session of commands that use locks, barriers, queues and ids."""

from __future__ import annotations

import getpass
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.coordination.recipes.claim_nodes import Owner
from replicator.coordination.rights import Guard
from replicator.zookeeper import access
from replicator.zookeeper.client import connect

_SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def session(zookeeper: str, root: str, session_timeout: float) -> Iterator[tuple[Coordinator, Layout]]:
    """With the login of the environment, of whatever process it is. SIGTERM and SIGHUP end the session in order, so
    that no other process waits for its timeout.

    Raises NotConnected E4001; ConfigError E4034, E4036.
    """
    login = access.of_environment()
    access.require_secured(zookeeper, login)
    layout = Layout(root)
    guard = Guard(layout, None, required=login.has_identity and not login.insecure)

    def end(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, end) for number in _SIGNALS}
    coordinator = None
    try:
        coordinator = connect(zookeeper, session_timeout, access=login, guard=guard)
        yield coordinator, layout
    finally:
        if coordinator is not None:
            coordinator.close()
        for number, handler in before.items():
            signal.signal(number, handler)


def owner() -> Owner:
    try:
        name = getpass.getuser()
    except (OSError, KeyError):
        name = str(os.getuid())
    return Owner(by=name[:100], host=socket.gethostname()[:100], pid=os.getpid())
