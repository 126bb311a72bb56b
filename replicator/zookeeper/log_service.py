"""The thread that answers requests for the last log lines of this process."""

from __future__ import annotations

import threading
from typing import Any, Final

from replicator.coordination.logs.answers import LogAnswers
from replicator.coordination.ports import Connection, Coordinator
from replicator.errors import NotConnected, ReplicatorError

_REREAD_SECONDS: Final = 30.0
"""A watch is only a hint."""
_AGAIN_SECONDS: Final = 5.0
"""After an error: the nodes of an older tree are made when the first Server is asked."""


class LogService:
    """A thread between `start` and `stop`.

    Args:
        log: a logger of `replicator.telemetry.log`.
    """

    def __init__(self, coordinator: Coordinator, answers: LogAnswers, log: Any) -> None:
        self._coordinator = coordinator
        self._answers = answers
        self._log = log
        self._changed = threading.Event()
        self._watched = False
        self._stopped = False
        self._said = ""
        self._thread = threading.Thread(target=self._run, name="log-lines", daemon=True)

    def start(self) -> LogService:
        self._coordinator.on_connection(self._connection_changed)
        self._thread.start()
        return self

    def stop(self) -> None:
        """Does not wait: the thread may be waiting for ZooKeeper."""
        self._stopped = True
        self._changed.set()

    def _connection_changed(self, state: Connection) -> None:
        if state is Connection.CONNECTED:
            self._watched = False  # set again: one that is still there fires for nothing
            self._changed.set()

    def _fired(self, change: object, path: str) -> None:
        self._watched = False
        self._changed.set()

    def _run(self) -> None:
        while not self._stopped:
            self._changed.clear()
            self._changed.wait(_REREAD_SECONDS if self._step() else _AGAIN_SECONDS)

    def _step(self) -> bool:
        watch, self._watched = None if self._watched else self._fired, True
        try:
            self._answers.step(watch)
            return True
        except NotConnected:
            self._watched = False
        except ReplicatorError as error:
            self._watched = False
            if self._said != error.code:
                self._said = error.code
                self._log.warning("log lines can't be fetched from here", code=error.code, error=str(error))
        except Exception:
            self._watched = False
            self._log.exception("fault", code="E5011")
        return False
