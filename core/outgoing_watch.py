"""Follows the cluster's list of outgoing addresses, and has this process obey it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from replicator.coordination.layout import Layout
from replicator.coordination.outgoing import OutgoingList
from replicator.coordination.ports import Coordinator
from replicator.coordination.watches import Watches
from replicator.net import connections
from replicator.telemetry import log


class OutgoingWatch:
    """Of the agent's loop, and of the turns of several tasks at once.

    Args:
        wake: called from any thread when the list may have changed.
        changed: called with a list that is another one than before.
    """

    def __init__(
        self,
        coordinator: Coordinator,
        layout: Layout,
        wake: Callable[[], None],
        changed: Callable[[tuple[str, ...] | None], None],
    ) -> None:
        self._path = layout.outgoing
        self._list = OutgoingList(coordinator, layout)
        self._watches = Watches(wake)
        self._changed = changed
        self._entries: tuple[str, ...] | None = None
        self._lock = threading.Lock()
        self._read_at = float("-inf")  # when the last reading began

    def refresh(self) -> tuple[str, ...] | None:
        """The list as it is now. Raises NotConnected, with what was known before still in force.

        Threads that wait for each other share a reading that began after they asked: hundreds of workers start at once
        when a Core dies.
        """
        asked = time.monotonic()
        with self._lock:
            if self._read_at >= asked:
                return self._entries
            began = time.monotonic()
            entries = self._refresh()
            self._read_at = began
            return entries

    def _refresh(self) -> tuple[str, ...] | None:
        with self._watches.on("data", self._path) as watch:
            self._list.watch(watch)
        entries = self._list.entries()
        if entries != self._entries:
            self._entries = entries
            connections.set_cluster_list(entries)
            shown = "everything" if entries is None else ", ".join(entries) or "nothing: the list is not valid"
            log.get_logger("core").info("list of outgoing addresses", allowed=shown[:500])
            self._changed(entries)
        return entries

    def forget_watches(self) -> None:
        """The session is gone."""
        self._watches.clear()
