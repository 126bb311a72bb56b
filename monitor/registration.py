"""Registers each Monitor in /monitors, so that its listener is checked and its log lines are found.

Nothing else depends on it: a Monitor that may not register, in a tree that an earlier release has secured, works.
"""

from __future__ import annotations

import os
import socket
import threading
import uuid
from typing import Final

from replicator.coordination.clock import now_ms
from replicator.coordination.layout import Layout, parse_contender
from replicator.coordination.logs.nodes import make_parents
from replicator.coordination.ports import Connection, Coordinator
from replicator.coordination.records import MonitorRecord, dump
from replicator.errors import CoordinationError, NodeMissing, NotConnected
from replicator.telemetry.log import get_logger

_SECONDS: Final = 10.0
"""Between looks whether the node is still there, besides those at each new connection."""
_log = get_logger("monitor")


class Registration:
    """A thread between `start` and `stop`.

    Args:
        required: whether the Monitor requires logins.

    Attributes:
        process: id of this process in the tree.
        address: where this Monitor listens, "" before `start`.
    """

    def __init__(self, coordinator: Coordinator, layout: Layout, *, required: bool) -> None:
        self._coordinator = coordinator
        self._layout = layout
        self._required = required
        self.process = uuid.uuid4().hex
        self._since_ms = now_ms()
        self.address = ""
        self._kick = threading.Event()
        self._stopped = False
        self._said = ""
        self._thread = threading.Thread(target=self._run, name="registration", daemon=True)

    def start(self, address: str) -> None:
        self.address = address
        self._coordinator.on_connection(self._connection_changed)
        self._thread.start()

    def stop(self) -> None:
        """Does not wait: the thread may be waiting for ZooKeeper."""
        self._stopped = True
        self._kick.set()

    def _connection_changed(self, state: Connection) -> None:
        if state is Connection.CONNECTED:
            self._kick.set()

    def _run(self) -> None:
        while not self._stopped:
            self._kick.clear()
            self.keep()
            self._kick.wait(_SECONDS)

    def keep(self) -> None:
        """Makes the node unless it is there. Raises nothing: while ZooKeeper is away the next call tries again."""
        try:
            if not self._registered():
                self._register()
            self._said = ""
        except NotConnected:
            return
        except CoordinationError as error:
            if self._said != error.code:
                self._said = error.code
                fix = "Run `replicator cluster secure` of this release, or start a Server of this release."
                _log.warning("this Monitor can't register", code=error.code, error=error.what, fix=fix)

    def _registered(self) -> bool:
        """A create whose answer was lost is found here again by its id."""
        try:
            found = map(parse_contender, self._coordinator.children(self._layout.monitors))
        except NodeMissing:
            make_parents(self._coordinator, self._layout)
            return False
        return any(one is not None and one.guid == self.process for one in found)

    def _register(self) -> None:
        host = socket.gethostname()
        record = MonitorRecord(
            host=host, pid=os.getpid(), address=self.address, since_ms=self._since_ms, login=self._required
        )
        prefix = self._layout.monitor_prefix(host, self.process)
        self._coordinator.create(prefix, dump(record), ephemeral=True, sequential=True)
