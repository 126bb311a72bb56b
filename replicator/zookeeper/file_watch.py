"""Connects again when login or TLS files have changed, so that a process changes its identity without a new session."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from replicator.coordination.rights import ROLES, Guard
from replicator.errors import ConfigError
from replicator.zookeeper.access import Access

_SECONDS: Final = 5.0


class FileWatch:
    """
    Args:
        reconnect: called when the files have changed and can be used: with an identity that is not recorded yet the
            process would be locked out, so it waits for the record.
    """

    def __init__(self, access: Access, guard: Guard, reconnect: Callable[[], None]) -> None:
        self._access = access
        self._guard = guard
        self._reconnect = reconnect
        self._seen = access.files()

    def start(self) -> None:
        if self._seen:
            threading.Thread(target=self._run, name="zookeeper-files", daemon=True).start()

    def _run(self) -> None:
        pause = threading.Event()
        while not pause.wait(_SECONDS):
            self.look()

    def look(self) -> None:
        try:
            fresh = self._access.fresh()
            found = fresh.files()
            if found == self._seen or not self._usable(fresh):
                return
        except ConfigError:
            return  # written in part, say
        self._seen = found
        self._reconnect()

    def _usable(self, fresh: Access) -> bool:
        own = fresh.identities()
        if fresh.tls:
            fresh.context()
        record = self._guard.record
        roles = (self._guard.role,) if self._guard.role else ROLES
        return record is None or any(identity in record.of(role) for identity in own for role in roles)
