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
from replicator.host.installed_version import installed_version
from replicator.telemetry.log import get_logger
from replicator.telemetry.server_certificate import ServerCertificate

_SECONDS: Final = 10.0
"""Between looks whether the node is still there, besides those at each new connection."""
_log = get_logger("monitor")


class Registration:
    """A thread between `start` and `stop`.

    Args:
        required: whether the Monitor requires logins.
        certificate: of the listener, None without TLS.

    Attributes:
        process: id of this process in the tree.
        address: where this Monitor listens, "" before `start`.
    """

    def __init__(
        self,
        coordinator: Coordinator,
        layout: Layout,
        *,
        required: bool,
        certificate: ServerCertificate | None = None,
    ) -> None:
        self._certificate = certificate
        self._told: MonitorRecord | None = None
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
            name = self._registered()
            if name is None:
                self._register()
            elif self._record() != self._told:
                self._told = self._record()
                self._coordinator.set(f"{self._layout.monitors}/{name}", dump(self._told))
            self._said = ""
        except NotConnected:
            return
        except CoordinationError as error:
            if self._said != error.code:
                self._said = error.code
                fix = "Run `replicator cluster secure` of this release, or start a Server of this release."
                _log.warning("this Monitor can't register", code=error.code, error=error.what, fix=fix)

    def _registered(self) -> str | None:
        """Name of the node. A create whose answer was lost is found here again by its id."""
        try:
            found = map(parse_contender, self._coordinator.children(self._layout.monitors))
        except NodeMissing:
            make_parents(self._coordinator, self._layout)
            return None
        return next((one.name for one in found if one is not None and one.guid == self.process), None)

    def _register(self) -> None:
        record = self._record()
        prefix = self._layout.monitor_prefix(record.host, self.process)
        self._coordinator.create(prefix, dump(record), ephemeral=True, sequential=True)
        self._told = record

    def _record(self) -> MonitorRecord:
        certificate = self._certificate
        return MonitorRecord(
            host=socket.gethostname(),
            pid=os.getpid(),
            address=self.address,
            since_ms=self._since_ms,
            certificate_ms=certificate.expires_ms if certificate is not None else 0,
            certificate_problem=certificate is not None and bool(certificate.problem),
            version=installed_version(),
            login=self._required,
        )
