"""Relays of this Core: one process per dump connection that several of its tasks share.

A relay is started when two tasks want the same stream, and ends by itself some seconds after its last reader. It takes
no part in leadership: it reads and nothing else, and a worker that reads from it has its own lease as before.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Protocol

from core.protocol import RelaySpec, ShareSource, SourceShared, ToWorker, WorkerSpec
from replicator.net import connections
from replicator.telemetry import log

_LEAST = 2
"""Tasks; one alone reads with a connection of its own."""
_LOG = log.get_logger("core")


class RelayProcess(Protocol):
    @property
    def pid(self) -> int: ...

    @property
    def alive(self) -> bool: ...


class Asking(Protocol):
    """A worker that wants to share its stream."""

    def send(self, message: ToWorker) -> None: ...


class Relays:
    """Used by the agent's loop alone.

    Args:
        start: makes the process; None: nothing is shared.
        current: whether this is still the worker of the task.
    """

    def __init__(
        self, start: Callable[[RelaySpec], RelayProcess] | None, current: Callable[[str, object], bool]
    ) -> None:
        self._start = start
        self._current = current
        self._asking: dict[str, tuple[str, Asking]] = {}  # task -> key, worker
        self._running: dict[str, tuple[str, RelayProcess]] = {}  # key -> name of the socket, process

    def asked(self, spec: WorkerSpec, worker: Asking, message: ShareSource) -> None:
        """The worker of `spec` has caught up and would share its stream. It asks again while it has no answer."""
        if self._start is None:
            return
        self._forget()
        key = message.key
        self._asking[spec.task] = key, worker
        workers = [other for wanted, other in self._asking.values() if wanted == key]
        if key not in self._running and len(workers) >= _LEAST:
            name = f"replicator-{secrets.token_hex(16)}"
            try:
                process = self._start(
                    RelaySpec(name, message, spec.config, spec.installation, spec.host, connections.cluster_list())
                )
            except (OSError, EOFError) as error:
                _LOG.warning("shared stream could not be started", source=message.where, error=str(error))
                return
            self._running[key] = name, process
            _LOG.info("shared stream started", source=message.where, pid=process.pid, tasks=len(workers))
        elif key in self._running:
            workers = [worker]
        for each in workers if key in self._running else ():
            each.send(SourceShared(key, self._running[key][0]))

    def _forget(self) -> None:
        """Of workers and relays that are no more."""
        self._asking = {task: entry for task, entry in self._asking.items() if self._current(task, entry[1])}
        self._running = {key: entry for key, entry in self._running.items() if entry[1].alive}
