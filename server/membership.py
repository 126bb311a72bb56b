"""Registers each Server in /servers/instance; the one with the smallest sequence is the master.

Nothing depends on there being exactly one master for long: what it does is safe to do twice (see `server.sweep`), so a
membership without a lease is enough.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import uuid

from replicator.coordination.layout import Layout, parse_contender
from replicator.coordination.logs.nodes import make_parents
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import ServerRecord, dump
from replicator.errors import CoordinationError, NodeMissing
from replicator.host.installed_version import installed_version
from replicator.telemetry.log import get_logger
from replicator.telemetry.server_certificate import ServerCertificate

_log = get_logger("server")


class Membership:
    """Call `keep()` every second or so; it registers, and registers again after a lost session. Not thread-safe but
    for `is_master` and `leave`."""

    def __init__(
        self,
        coordinator: Coordinator,
        layout: Layout,
        host: str,
        address: str,
        certificate: ServerCertificate | None = None,
        guid: str = "",
    ) -> None:
        self._certificate = certificate
        self._told: ServerRecord | None = None
        self._coordinator = coordinator
        self._layout = layout
        self._host = host
        self._address = address
        self._since_ms = int(time.time() * 1000)
        self._guid = guid or uuid.uuid4().hex
        self._leaving = threading.Event()
        self.is_master = False

    def keep(self) -> None:
        """Raises nothing: while ZooKeeper is away nobody here is master, and the next call tries again."""
        try:
            if not self._leaving.is_set():
                self.is_master = self._registered()
        except CoordinationError:
            self.is_master = False

    def _registered(self) -> bool:
        guids = self._contenders()
        if self._guid not in guids:
            self._register()
            guids = self._contenders()
        self._report()
        return bool(guids) and guids[0] == self._guid

    def _contenders(self) -> list[str]:
        """By rising sequence. A create whose answer was lost is found here again by its guid."""
        try:
            found = map(parse_contender, self._coordinator.children(self._layout.servers))
        except NodeMissing:
            return []
        return [one.guid for one in sorted((c for c in found if c), key=lambda c: c.sequence)]

    def _record(self) -> ServerRecord:
        certificate = self._certificate
        return ServerRecord(
            host=self._host,
            pid=os.getpid(),
            address=self._address,
            since_ms=self._since_ms,
            certificate_ms=certificate.expires_ms if certificate is not None else 0,
            certificate_problem=certificate is not None and bool(certificate.problem),
            version=installed_version(),
        )

    def _register(self) -> None:
        with contextlib.suppress(CoordinationError):  # it is not needed for this
            make_parents(self._coordinator, self._layout)
        record = self._record()
        prefix = self._layout.server_prefix(self._host, self._guid)
        path = self._coordinator.create(prefix, dump(record), ephemeral=True, sequential=True, parents=True)
        self._told = record
        _log.info("registered", node=path)

    def _report(self) -> None:
        """Writes the record again when the certificate has changed."""
        record = self._record()
        if record == self._told:
            return
        for child in self._coordinator.children(self._layout.servers):
            found = parse_contender(child)
            if found is not None and found.guid == self._guid:
                self._coordinator.set(f"{self._layout.servers}/{child}", dump(record))
        self._told = record

    def leave(self) -> None:
        self._leaving.set()
        self.is_master = False
