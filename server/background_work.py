"""Background work of a Server: it registers itself, does the duties of the day that no other Server does, and as
master it finishes deletions and removes old records."""

from __future__ import annotations

import contextlib
import threading

from replicator.alerts.silence_store import Silences
from replicator.coordination.access.idempotency import Requests
from replicator.coordination.recipes.duties import Duties
from replicator.errors import CoordinationError, NotConnected
from replicator.telemetry.log import get_logger
from server.address_probes import AddressProbes
from server.audit import Audit
from server.cutovers import CutoverDriver
from server.membership import Membership
from server.task_operations import TaskOperations

INTERVAL = 1.0
TRIM_ROUNDS = 60
_log = get_logger("server")


class BackgroundWork:
    """A separate thread between `start` and `stop`. Nothing that goes wrong in it ends the Server."""

    def __init__(
        self,
        operations: TaskOperations,
        membership: Membership,
        audit: Audit | None = None,
        requests: Requests | None = None,
        duties: Duties | None = None,
        probes: AddressProbes | None = None,
        cutovers: CutoverDriver | None = None,
        silences: Silences | None = None,
    ) -> None:
        self._cutovers = cutovers
        self._silences = silences
        self._probes = probes
        self._operations = operations
        self._membership = membership
        self._audit = audit
        self._requests = requests
        self._duties = duties
        self._rounds = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="background_work", daemon=True)

    def start(self) -> None:
        if self._probes is not None:
            self._probes.start()
        if self._cutovers is not None:
            self._cutovers.start()
        self._thread.start()

    def stop(self) -> None:
        self._membership.leave()
        if self._probes is not None:
            self._probes.stop()
        if self._cutovers is not None:
            self._cutovers.stop()
        self._stop.set()
        self._thread.join(timeout=5)

    def _run(self) -> None:
        while True:
            self.run_once()
            if self._stop.wait(INTERVAL):
                return

    def run_once(self) -> None:
        """One round."""
        self._membership.keep()
        self._watch_reports()
        self._check_cache()
        if self._audit is not None:
            self._audit.note_refusals()
            self._audit.flush()
        self._operations.edits.expire()
        self._do_duties()
        if not self._membership.is_master:
            return
        try:
            self._operations.sweep()
            for source in self._operations.end_source_locks():
                _log.info("the time of a source's lock is over", source=source)
            self._trim()
        except NotConnected:
            return  # the next turn tries again
        except CoordinationError as error:
            _log.warning("deletions can't be completed, or old records not removed", code=error.code, error=str(error))

    def _do_duties(self) -> None:
        """Also where this Server is not master: a duty has a lock of its own."""
        if self._duties is None:
            return
        try:
            for name in self._duties.run():
                _log.info("duty of the day done", duty=name)
        except NotConnected:
            return  # the next turn tries again
        except CoordinationError as error:
            _log.warning("a duty of the day can't be done", code=error.code, error=str(error))

    def _trim(self) -> None:
        if self._rounds % TRIM_ROUNDS == 0:
            if self._audit is not None:
                self._audit.trim()
            if self._requests is not None:
                self._requests.trim()
            if self._silences is not None:
                self._silences.trim()
        self._rounds += 1

    def _watch_reports(self) -> None:
        with contextlib.suppress(NotConnected):
            self._operations.watch_reports()

    def _check_cache(self) -> None:
        try:
            if path := self._operations.check_cache():
                _log.error("a change was not reported by ZooKeeper; everything is read again", path=path)
        except CoordinationError:
            return  # the next turn goes on
