"""Finds running processes by their pid files, and stops them: never a process that merely has the same pid."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from replicator.errors import ProcessError
from replicator.host.pid_file import remove_stale
from replicator.host.process_record import MOST_BYTES, ProcessRecord, decode

_MARK_SECONDS: Final = 5.0
"""For a process to note that it was signalled."""
_EVERY_SECONDS: Final = 0.05


class RunningProcess:
    """A process that held its pid file when it was found.

    Attributes:
        record: of the pid file.
    """

    def __init__(self, path: Path, record: ProcessRecord, descriptor: int | None) -> None:
        self.path = path
        self.record = record
        self._descriptor = (
            descriptor  # refers to the process, and to no later one of the same pid; None before Linux 5.3
        )

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)

    def stop(self, timeout: float) -> bool:
        """Sends SIGTERM, unless the process is stopping already, and waits; whether it has ended within `timeout`
        seconds. A second SIGTERM would end a Core at once.

        Raises:
            ProcessError: E5052, it belongs to another user.
        """
        end = time.monotonic() + timeout
        with _one_at_a_time(self.path.parent):
            if not self._is_stopping():
                self._signal()
                marked = time.monotonic() + min(timeout, _MARK_SECONDS)
                while not self._ended(_EVERY_SECONDS) and not self._is_stopping() and time.monotonic() < marked:
                    pass
        return self._ended(max(0.0, end - time.monotonic()))

    @property
    def in_order(self) -> bool:
        """After its end: a process that was killed, or ended by an error, leaves its file."""
        return not _same(_record(self.path), self.record)

    def _is_stopping(self) -> bool:
        found = _record(self.path)
        return found is not None and found.stopping

    def _signal(self) -> None:
        try:
            if self._descriptor is not None:
                signal.pidfd_send_signal(self._descriptor, signal.SIGTERM)
            elif self.record.runs:
                os.kill(self.record.pid, signal.SIGTERM)
        except ProcessLookupError:
            return  # it has just ended
        except PermissionError:
            raise ProcessError(
                "E5052", f"{self.record} belongs to another user", fix="Run the command as the user of that process."
            ) from None

    def _ended(self, seconds: float) -> bool:
        """Whether it ends within that time."""
        if self._descriptor is not None:
            poll = select.poll()
            poll.register(self._descriptor, select.POLLIN)
            return bool(poll.poll(int(seconds * 1000)))
        end = time.monotonic() + seconds
        while self.record.runs:
            if time.monotonic() >= end:
                return False
            time.sleep(_EVERY_SECONDS)
        return True


def find(path: Path) -> RunningProcess | None:
    """The process that holds this pid file; None for a file that is missing, stale, or of another machine.

    Raises:
        ProcessError: E5052, the file can't be read.
    """
    if not _is_held(path) or (record := _record(path)) is None:
        return None
    descriptor = _open(record.pid)
    # What is true after the descriptor was opened is true of the process that it refers to.
    if record.runs and _is_held(path) and _same(_record(path), record):
        return RunningProcess(path, record, descriptor)
    if descriptor is not None:
        os.close(descriptor)
    return None


def in_folder(folder: Path, kind: str) -> list[RunningProcess]:
    """The running processes of a kind. Files of processes that were killed are removed."""
    found = []
    for path in sorted(folder.glob(f"{kind}-*.pid")):
        running = find(path)
        if running is not None:
            found.append(running)
        else:
            remove_stale(path)
    return found


def _same(one: ProcessRecord | None, other: ProcessRecord) -> bool:
    return one is not None and (one.pid, one.started, one.boot) == (other.pid, other.started, other.boot)


def _open(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except OSError as error:
        if error.errno in (errno.ESRCH, errno.ENOSYS, errno.EPERM):
            return None
        raise


def _is_held(path: Path) -> bool:
    """Whether a process has the file locked."""
    with _opened(path) as descriptor:
        if descriptor is None:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def _record(path: Path) -> ProcessRecord | None:
    with _opened(path) as descriptor:
        for _ in range(3):
            if descriptor is None:
                return None
            if (record := decode(os.pread(descriptor, MOST_BYTES, 0))) is not None:
                return record
            time.sleep(_EVERY_SECONDS)  # it may have been written at that moment
    return None


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int | None]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        yield None
        return
    except OSError as error:
        raise ProcessError("E5052", f"the pid file {path} cannot be read", found=error.strerror or str(error)) from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    """Two who stop a process together send one signal: the second sees the mark of the first."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
    except OSError:
        yield
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
