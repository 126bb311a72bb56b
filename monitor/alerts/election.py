"""Which of several Monitors sends: the one that has a lock in ZooKeeper, under a lease."""

from __future__ import annotations

import os

from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.coordination.recipes.claim_nodes import Owner
from replicator.coordination.recipes.hold import Hold
from replicator.coordination.recipes.locks import Locks
from replicator.errors import CoordinationError


class Election:
    """Used by one thread; `keep` from any."""

    def __init__(self, coordinator: Coordinator, layout: Layout, host: str) -> None:
        self._base = layout.alert_sender
        self._locks = Locks(coordinator, layout, Owner(by="monitor", host=host, pid=os.getpid()))
        self._hold: Hold | None = None
        self.keep = self._locks.keep

    @property
    def claim(self) -> str:
        """Path of our node; "" where another Monitor sends. It may become invalid at any time."""
        return self._hold.paths[0] if self._hold is not None and self._hold.valid() else ""

    def stand(self) -> bool:
        """Asks once. Returns whether this Monitor has just been elected. Raises CoordinationError, NotConnected."""
        if self._hold is not None:
            if self._hold.valid():
                return False
            self._locks.release(self._hold)
            self._hold = None
        try:
            self._hold = self._locks.acquire_at(self._base, "the sender of alerts", "exclusive", 0)
        except CoordinationError as error:
            if error.code not in ("E4070", "E4071"):
                raise
            return False
        return True

    def leave(self) -> None:
        """Raises nothing: the claim goes with the session."""
        self._hold = None
        self._locks.close()
