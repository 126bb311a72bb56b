"""The pipe thread: reads what the workers say and hands it on at once."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from typing import Protocol

from core.protocol import FromWorker


class Speaker(Protocol):
    @property
    def connection(self) -> Connection: ...

    def receive(self) -> list[FromWorker] | None: ...


class PipeReader:
    """Args:
    heard: called with (task, worker, message); message None when the worker is gone and all was read. From this
        thread; must not block.
    """

    def __init__(self, heard: Callable[[str, Speaker, FromWorker | None], None]) -> None:
        self._heard = heard
        self._lock = threading.Lock()
        self._speakers: dict[Connection, tuple[str, Speaker]] = {}
        self._wake_in, self._wake_out = multiprocessing.Pipe(duplex=False)
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="pipes", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def add(self, task: str, worker: Speaker) -> None:
        with self._lock:
            self._speakers[worker.connection] = (task, worker)
        self._wake()

    def remove(self, worker: Speaker) -> None:
        """Nothing of this worker is heard any more; called before its pipe is closed."""
        with self._lock:
            self._speakers.pop(worker.connection, None)
        self._wake()

    def stop(self) -> None:
        self._stopped = True
        self._wake()
        self._thread.join(timeout=5)
        self._wake_in.close()
        self._wake_out.close()

    def _wake(self) -> None:
        with self._lock:
            if not self._wake_out.closed:
                self._wake_out.send_bytes(b"x")

    def _run(self) -> None:
        while not self._stopped:
            with self._lock:
                connections = [self._wake_in, *self._speakers]
            for ready in self._ready(connections):
                if ready is self._wake_in:
                    self._wake_in.recv_bytes()
                else:
                    self._read(ready)

    def _ready(self, connections: list[Connection]) -> list[Connection]:
        try:
            return [ready for ready in wait(connections) if isinstance(ready, Connection)]
        except (OSError, ValueError):
            return []  # a pipe was closed while we waited: its worker is removed already

    def _read(self, connection: Connection) -> None:
        with self._lock:
            found = self._speakers.get(connection)
        if found is None:
            return
        task, worker = found
        messages = worker.receive()
        if messages is None:
            self.remove(worker)
            self._heard(task, worker, None)
            return
        for message in messages:
            self._heard(task, worker, message)
