"""The thread that takes a snapshot about once a second and publishes it; browsers never cause a read of ZooKeeper."""

from __future__ import annotations

import threading
import time

import msgspec

from monitor.feed import Feed
from monitor.render import Renderer
from monitor.snapshot_history import SnapshotHistory
from monitor.snapshot_reader import SnapshotReader
from monitor.view import View
from monitor.view_builder import build
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Connection, Coordinator
from replicator.errors import CoordinationError
from replicator.telemetry.log import get_logger

log = get_logger("monitor")


class SnapshotPoller:
    """`view` is replaced as a whole and may be read from any thread."""

    def __init__(self, coordinator: Coordinator, layout: Layout, feed: Feed, interval: float = 1.0) -> None:
        self.view = View(root=layout.root, stale_since_ms=_now_ms(), stale_reason="not read yet")
        self._coordinator = coordinator
        self._root = layout.root
        self._reader = SnapshotReader(coordinator, layout)
        self._memory = SnapshotHistory()
        self._renderer = Renderer()
        self._feed = feed
        self._interval = interval
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="monitor-poller", daemon=True)
        self._publish(self.view)

    @property
    def connected(self) -> bool:
        return self._coordinator.connection is Connection.CONNECTED

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(10)

    def _run(self) -> None:
        while not self._stop.is_set():
            began = time.monotonic()
            self.step()
            # A tree so large that reading it takes long must not keep ZooKeeper busy: at most half of the time.
            took = time.monotonic() - began
            self._stop.wait(max(self._interval - took, took))

    def step(self) -> None:
        """One snapshot; what can't be read leaves the last figures standing, marked as stale. Never raises."""
        try:
            self._publish(build(self._reader.read(), self._memory, self._root))
        except CoordinationError as error:
            self._publish(self._stale(f"{error.code} {error.what}"))
        except Exception as error:
            log.error("snapshot failed", error=repr(error), exc_info=True)
            self._publish(self._stale(f"E5011 the snapshot could not be made: {error!r}"))

    def _stale(self, reason: str) -> View:
        since = self.view.stale_since_ms or self.view.read_ms or _now_ms()
        return msgspec.structs.replace(self.view, stale_since_ms=since, stale_reason=reason)

    def _publish(self, view: View) -> None:
        # Frozen figures are told as of their own time, so that old ages do not look alive.
        now = view.read_ms if view.stale_since_ms and view.read_ms else _now_ms()
        self._feed.publish(self._renderer.fragments(view, now))
        self.view = view  # last: who sees us ready finds the page there


def _now_ms() -> int:
    return int(time.time() * 1000)
