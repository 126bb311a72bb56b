"""Logs why ZooKeeper is not connected, again and again while it lasts, and that it is connected again."""

from __future__ import annotations

import threading
import time
from typing import Any, Protocol

from replicator.codes import CODES
from replicator.coordination.ports import Connection, Coordinator

FIRST_SECONDS = 5.0
"""An outage shorter than this is not an error: a server of the ensemble was restarted, say."""
MOST_SECONDS = 60.0


class Source(Coordinator, Protocol):
    """A coordinator that knows why it has no connection."""

    hosts: str

    @property
    def code(self) -> str: ...

    def reasons(self) -> str: ...


class Schedule:
    """When a line is due: 5 s after the connection was lost, 10 s, 20 s, 40 s and then each minute."""

    def __init__(self, now: float) -> None:
        self.since = now
        self._wait = FIRST_SECONDS
        self.due = now + FIRST_SECONDS
        self.logged = False

    def take(self, now: float) -> bool:
        """Whether a line is due; the next one is then later."""
        if now < self.due:
            return False
        self.logged = True
        self.due = now + self._wait
        self._wait = min(2 * self._wait, MOST_SECONDS)
        return True


class OutageLog:
    """A thread between `start` and `stop`.

    Args:
        log: a logger of `replicator.telemetry.log`.
    """

    def __init__(self, coordinator: Source, log: Any) -> None:
        self._coordinator = coordinator
        self._log = log
        self._changed = threading.Condition()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="zookeeper-outages", daemon=True)

    def start(self) -> OutageLog:
        self._coordinator.on_connection(self._wake)
        self._thread.start()
        return self

    def stop(self) -> None:
        """Does not wait: the thread may be looking a name up."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _wake(self, state: Connection) -> None:
        with self._changed:
            self._changed.notify_all()

    def _run(self) -> None:
        outage: Schedule | None = None
        while not self._stopped:
            outage = self.step(outage, time.monotonic())
            with self._changed:
                if not self._stopped and self._away == (outage is not None):
                    self._changed.wait(None if outage is None else max(0.0, outage.due - time.monotonic()))

    @property
    def _away(self) -> bool:
        return self._coordinator.connection is not Connection.CONNECTED

    def step(self, outage: Schedule | None, now: float) -> Schedule | None:
        """Logs what is due; returns the present outage, None while there is a connection."""
        if not self._away:
            if outage is not None and outage.logged:
                self._log.info("zookeeper is connected again", after_s=round(now - outage.since))
            return None
        outage = outage or Schedule(now)
        if outage.take(now):
            reason = self._coordinator.reasons()
            self._log.error(
                "waiting for zookeeper",
                code=self._coordinator.code,
                servers=self._coordinator.hosts,
                reason=reason,
                for_s=round(now - outage.since),
                fix=CODES[self._coordinator.code].remedy,
            )
        return outage
