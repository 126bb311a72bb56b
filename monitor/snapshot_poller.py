"""The thread that takes a snapshot about once a second and publishes it; browsers never cause a read of ZooKeeper."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import msgspec

from monitor.feed import Feed
from monitor.formatting import stamp
from monitor.problems.noticed import Noticed
from monitor.render import Renderer
from monitor.role_changes import Change
from monitor.snapshot_history import SnapshotHistory
from monitor.snapshot_reader import SnapshotReader
from monitor.view import View
from monitor.view_builder import build
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Connection, Coordinator
from replicator.errors import CoordinationError
from replicator.telemetry.log import get_logger

log = get_logger("monitor")

FRESH_SECONDS = 3.0
"""Figures count as current for so long after they were read; longer where two reads take longer than that."""
CONNECT_SECONDS = 5.0
"""A Monitor that has just started says that it connects, not that ZooKeeper is away."""


class SnapshotPoller:
    """Args:
    interval: seconds from one read to the next.
    zookeeper: the addresses of ZooKeeper, which the page shows when none of them answers; warnings: for its banner.
    clock: monotonic, seconds; all ages are measured with it.
    seen: is given each view that was read.
    marked: adds alerts to a view, before it is shown.
    """

    def __init__(
        self,
        coordinator: Coordinator,
        layout: Layout,
        feed: Feed,
        interval: float = 1.0,
        zookeeper: str = "",
        warnings: tuple[str, ...] = (),
        clock: Callable[[], float] = time.monotonic,
        seen: Callable[[View], None] = lambda view: None,
        marked: Callable[[View], View] = lambda view: view,
    ) -> None:
        self._seen = seen
        self._marked = marked
        self._coordinator = coordinator
        self._root = layout.root
        self._reader = SnapshotReader(coordinator, layout)
        self._memory = SnapshotHistory()
        self._renderer = Renderer()
        self._feed = feed
        self._interval = interval
        self._clock = clock
        self._started = self._read_at = clock()
        self._outage: set[str] = set()  # the codes that are in the log
        self._view = View(
            root=layout.root,
            zookeeper=zookeeper,
            warnings=warnings,
            stale_since_ms=_now_ms(),
            stale_reason="not read yet",
            connecting=True,
        )
        self._noticed = Noticed()
        self._stop = threading.Event()
        self._publishing = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="monitor-poller", daemon=True)
        self._watchdog = threading.Thread(target=self._watch, name="monitor-watchdog", daemon=True)
        self._publish(self._view)

    @property
    def view(self) -> View:
        """The last figures with their age at this moment; they are stale, too, while a read of ZooKeeper is not
        answered. From any thread."""
        view = self._view
        if not view.read_ms:
            return view
        age_s = max(self._clock() - self._read_at, 0.0)
        if view.stale_since_ms is None and age_s > view.fresh_s:
            view = _stale(view, "", "no answer yet", view.read_ms)
        connected = view.stale_since_ms is None and self._coordinator.connection is Connection.CONNECTED
        return msgspec.structs.replace(view, age_s=age_s, zookeeper_connected=connected)

    def changes_of(self, task: str) -> tuple[Change, ...]:
        """See `SnapshotHistory.changes_of`."""
        return self._memory.changes_of(task)

    def start(self) -> None:
        self._thread.start()
        self._watchdog.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(10)
        self._watchdog.join(10)

    def _run(self) -> None:
        while not self._stop.is_set():
            began = self._clock()
            self.step()
            # A tree so large that reading it takes long must not keep ZooKeeper busy: at most half of the time.
            took = self._clock() - began
            self._stop.wait(max(self._interval - took, took))

    def _watch(self) -> None:
        while not self._stop.wait(self._interval / 2):
            self.look()

    def look(self) -> None:
        """Shows figures as stale while their successors are waited for: a read of a frozen ZooKeeper takes seconds."""
        published, view = self._view, self.view
        if published.stale_since_ms is None and view.stale_since_ms is not None:
            with self._publishing:
                if self._view is published:
                    self._put(view)

    def step(self) -> None:
        """One snapshot; what can't be read leaves the last figures, marked as stale. Never raises."""
        try:
            began = self._clock()
            if path := self._reader.check():
                log.error("a change was not reported by zookeeper; everything is read again", path=path)
            view = build(self._reader.read(), self._memory, self._root)
            period = max(self._interval, 2 * (self._clock() - began))
            fresh_s = max(FRESH_SECONDS, 2 * period + 1.0)
            self._answered(
                msgspec.structs.replace(
                    view, zookeeper=self._view.zookeeper, warnings=self._view.warnings, fresh_s=fresh_s
                ),
                began,
            )
        except CoordinationError as error:
            self._failed(error.code, error.what)
        except Exception as error:
            self._failed("E5011", f"the snapshot could not be made: {error!r}", fault=True)

    def _answered(self, view: View, read_at: float) -> None:
        if self._outage:
            log.info("zookeeper answers again", without_data_s=round(self._clock() - self._read_at, 1))
        self._outage, self._read_at = set(), read_at
        self._seen(view)
        self._publish(view)

    def _failed(self, code: str, what: str, *, fault: bool = False) -> None:
        connecting = not self._view.read_ms and self._clock() - self._started < CONNECT_SECONDS
        if not connecting and code not in self._outage:
            last = stamp(self._view.read_ms) if self._view.read_ms else "never"
            log.error("no data from zookeeper", code=code, error=what, last_read=last, exc_info=fault)
            self._outage.add(code)
        since = self._view.stale_since_ms or self._view.read_ms or _now_ms()
        self._publish(_stale(self._view, code, what, since, connecting=connecting))

    def _publish(self, view: View) -> None:
        with self._publishing:
            self._put(view)

    def _put(self, view: View) -> None:
        view = msgspec.structs.replace(self._marked(view), noticed=self._noticed.note(view))
        self._feed.publish(self._renderer.fragments(view, _now_ms()))
        self._view = view  # last: who sees us ready finds the page there


def _stale(view: View, code: str, what: str, since_ms: int, *, connecting: bool = False) -> View:
    return msgspec.structs.replace(
        view, stale_since_ms=since_ms, stale_code=code, stale_reason=what, connecting=connecting
    )


def _now_ms() -> int:
    return int(time.time() * 1000)
