"""The pipe thread: receives messages from the workers, and sends messages that could not be sent without blocking."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Callable
from typing import Protocol

from core.protocol import FromWorker


class Speaker(Protocol):
    """A worker as the pipe thread sees it; no method blocks."""

    def fileno(self) -> int:
        """-1 when its pipe is closed."""
        ...

    def receive(self) -> list[FromWorker] | None:
        """Messages that have arrived in whole; None when the worker is gone and all was read."""
        ...

    @property
    def waits(self) -> bool:
        """Something for the worker is not sent yet."""
        ...

    def flush(self) -> None: ...

    def when_stalled(self, call: Callable[[], None]) -> None:
        """`call`: from any thread, when something did not fit into the pipe."""
        ...


class PipeReader:
    """Args:
    heard: called with (task, worker, message); message None when the worker is gone and all was read. From this
        thread; must not block.
    """

    def __init__(self, heard: Callable[[str, Speaker, FromWorker | None], None]) -> None:
        self._heard = heard
        self._lock = threading.Lock()
        self._speakers: dict[int, tuple[str, Speaker]] = {}
        self._woken, self._waker = socket.socketpair()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="pipes", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def add(self, task: str, worker: Speaker) -> None:
        with self._lock:
            self._speakers[worker.fileno()] = (task, worker)
        worker.when_stalled(self._wake)
        self._wake()

    def remove(self, worker: Speaker) -> None:
        """Nothing of this worker is heard any more; called before its pipe is closed."""
        with self._lock:
            self._speakers = {number: entry for number, entry in self._speakers.items() if entry[1] is not worker}
        self._wake()

    def stop(self) -> None:
        self._stopped = True
        self._wake()
        if self._thread.is_alive():
            self._thread.join(timeout=5)
        with self._lock:
            self._woken.close()
            self._waker.close()

    def _wake(self) -> None:
        with self._lock:
            if self._waker.fileno() >= 0:
                try:
                    self._waker.send(b"x", socket.MSG_DONTWAIT)
                except BlockingIOError:
                    return  # the thread is about to look anyway

    def _run(self) -> None:
        while not self._stopped:
            for number, happened in self._ready():
                if number == self._woken.fileno():
                    self._woken.recv(4096)
                    continue
                with self._lock:
                    found = self._speakers.get(number)
                if found is None:
                    continue
                if happened & select.POLLOUT:
                    found[1].flush()
                if happened & ~select.POLLOUT:
                    self._read(*found)

    def _ready(self) -> list[tuple[int, int]]:
        """Waits. A pipe that is closed meanwhile is removed from the speakers first, so that its number is not
        mistaken for another's: it says POLLNVAL, or nothing."""
        poll = select.poll()
        poll.register(self._woken, select.POLLIN)
        with self._lock:
            for number, (_, worker) in self._speakers.items():
                poll.register(number, select.POLLIN | (select.POLLOUT if worker.waits else 0))
        return poll.poll()

    def _read(self, task: str, worker: Speaker) -> None:
        messages = worker.receive()
        if messages is None:
            self.remove(worker)
            self._heard(task, worker, None)
            return
        for message in messages:
            self._heard(task, worker, message)
