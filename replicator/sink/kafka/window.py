"""The window of records in flight: limited in bytes and in time; the first failure ends the session.

The writing thread is admitted and waits; what is done is reported by whichever thread reads the broker's reply.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import TypeAlias

from replicator.errors import ReplicatorError, SinkUnavailable
from replicator.model.position import Position
from replicator.sink.prefix import Prefix

_POLL_SECONDS = 0.05
_LARGE_BYTES = 8 << 20

Drive: TypeAlias = Callable[[Callable[[], bool], float], bool]
"""Reads replies until something holds or, then False, until a monotonic time."""


class Window:
    """Args:
    limit: bytes in flight; a single larger piece is admitted alone.
    timeout: seconds after which the oldest piece counts as failed (E3002).
    poll: called about every 50 ms while waiting, with the age in seconds of the oldest piece; raises to end the wait.
    drive: how the writing thread waits; None: another thread reads the replies.

    Attributes:
        waited: seconds for which `admit` and `drain_large` have waited.
    """

    def __init__(self, limit: int, timeout: float, poll: Callable[[float], None], drive: Drive | None = None) -> None:
        self._limit = limit
        self._timeout = timeout
        self._poll = poll
        self._drive = drive
        self._reports = 0
        self._condition = threading.Condition()
        self._prefix = Prefix()
        self._sent: dict[int, tuple[int, float]] = {}  # number -> size, time; in order of sending
        self._error: ReplicatorError | None = None
        self.bytes = 0
        self.peak = 0
        self.waited = 0.0

    def fits(self, size: int) -> bool:
        """Whether `admit` would not wait."""
        with self._condition:
            return self._has_room(size)

    def _has_room(self, size: int) -> bool:
        return not self._sent or self.bytes + size <= self._limit

    def admit(self, size: int) -> int:
        """Waits for room and returns the piece's number. Raises what ended the wait, or an earlier failure."""
        with self._condition:
            if self._sent or self._error is not None:
                with self._measured():
                    self._wait(lambda: self._has_room(size), None)
            number = self._prefix.sent()
            self._sent[number] = (size, time.monotonic())
            self.bytes += size
            self.peak = max(self.peak, self.bytes)
            return number

    def done(self, number: int, error: ReplicatorError | None = None) -> None:
        """From any thread: a piece is durable, or failed. Only the first failure is kept: it is the cause."""
        with self._condition:
            self._reports += 1
            size, _ = self._sent.pop(number)
            self.bytes -= size
            if error is None:
                self._prefix.done(number)
            elif self._error is None:
                self._error = error
            self._condition.notify_all()

    def drain(self, timeout: float, progress: Callable[[], None] | None = None) -> None:
        """Waits until nothing is in flight, for as long as acknowledgements come; `progress` is called after each.
        Raises SinkUnavailable when none came for `timeout` seconds."""
        while self._await_next(timeout):
            if progress is not None:
                progress()

    def _await_next(self, timeout: float) -> bool:
        """Waits for the next acknowledgement. False: nothing is in flight."""
        with self._condition:
            count = len(self._sent)
            self._wait(lambda: not count or len(self._sent) < count, time.monotonic() + timeout)
            return count > 0

    def drain_large(self, timeout: float) -> None:
        """As `drain`, where a piece of more than 8 MB is in flight: another one is not made before it is gone."""
        with self._condition:
            large = any(size > _LARGE_BYTES for size, _ in self._sent.values())
        if large:
            with self._measured():
                self.drain(timeout)

    @contextlib.contextmanager
    def _measured(self) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self.waited += time.monotonic() - began

    def mark(self, position: Position) -> None:
        with self._condition:
            self._prefix.mark(position)

    def acknowledged(self) -> Position | None:
        """The last mark with everything before it durable. Raises an earlier failure, or when a piece is overdue."""
        with self._condition:
            self._raise_failed()
            return self._prefix.acknowledged

    def _wait(self, ready: Callable[[], bool], deadline: float | None) -> None:
        while True:
            self._raise_failed()
            if ready():
                return
            if deadline is not None and time.monotonic() >= deadline:
                raise SinkUnavailable(
                    "E3002", "not all records were acknowledged in time", found=f"{self.bytes} bytes in flight"
                )
            if self._await_report():
                continue
            age = self._age()
            self._condition.release()  # poll may take its time: who reports must get on
            try:
                self._poll(age)
            finally:
                self._condition.acquire()

    def _await_report(self) -> bool:
        """Waits for a report for some time. False: there was none."""
        if self._drive is None:
            return self._condition.wait(_POLL_SECONDS)
        before, until = self._reports, time.monotonic() + _POLL_SECONDS
        self._condition.release()
        try:
            return self._drive(lambda: self._reports != before, until)
        finally:
            self._condition.acquire()

    def _age(self) -> float:
        for _, since in self._sent.values():
            return time.monotonic() - since
        return 0.0

    def _raise_failed(self) -> None:
        if self._error is not None:
            raise self._error
        if self._age() > self._timeout:
            self._error = SinkUnavailable(
                "E3002",
                f"a batch was not acknowledged within {self._timeout:.0f} s",
                found=f"{self.bytes} bytes in flight",
            )
            raise self._error
