"""Runs a command, and ends it when the lease of a lock is over, also when the process that has the lock is stopped.

    python -m replicator.cli.lock.guard DESCRIPTOR GRACE -- COMMAND...

DESCRIPTOR is a socket to the process that has the lock: it sends the end of its lease (seconds of the lease clock) each
time it was extended. At that time, or when the socket is closed, the command and all processes that it has started
get SIGTERM, and SIGKILL after GRACE seconds. Exit status: that of the command.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import socket
import struct
import sys
from pathlib import Path
from types import FrameType
from typing import Final

from replicator.model import lease_clock

DEADLINE: Final = struct.Struct("d")
ENDED: Final = b"L"
"""Sent back: the command is ended because the lease is over."""
_POLL: Final = 0.25
"""Seconds: poll() does not count the time for which a host was suspended."""
_KILL_SECONDS: Final = 2.0
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_FORWARDED: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_OF_TERMINAL: Final = (signal.SIGINT, signal.SIGQUIT)
"""A terminal sends them to the command, too."""


def descendants(pid: int) -> list[int]:
    """All processes that the process has started, and those that they have started, where /proc shows them."""
    found: list[int] = []
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(child) for child in listed.read_text().split()]
        except OSError:
            continue
        for child in children:
            found += [child, *descendants(child)]
    return found


def send_all(pids: list[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue


class CommandGuard:
    def __init__(self, channel: socket.socket, grace: float) -> None:
        self._channel = channel
        self._grace = grace
        self._deadline = 0.0
        self._child = 0
        self._status: int | None = None
        self._read, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def run(self, command: list[str]) -> int:
        if not self._receive():
            return 1
        signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        self._child = self._start(command)
        for number in _FORWARDED:
            signal.signal(number, self._forward)
        for number in _OF_TERMINAL:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, lambda *_: None)
        poll = select.poll()
        poll.register(self._channel, select.POLLIN)
        poll.register(self._read, select.POLLIN)
        while self._status is None:
            left = self._deadline - lease_clock.now()
            ready = [number for number, _ in poll.poll(max(0.0, min(left, _POLL)) * 1000)]
            self._reap()
            if self._status is None and self._over(ready):
                self._end()
        return self._status

    def _over(self, ready: list[int]) -> bool:
        if self._channel.fileno() in ready and not self._receive():
            return True
        return lease_clock.now() >= self._deadline

    def _receive(self) -> bool:
        """False when the other side is gone."""
        try:
            data = self._channel.recv(4096)
        except OSError:
            return False
        if len(data) >= DEADLINE.size:
            (self._deadline,) = DEADLINE.unpack(data[-DEADLINE.size :])
        return bool(data)

    def _start(self, command: list[str]) -> int:
        parent = os.getpid()
        child = os.fork()
        if child:
            return child
        try:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            self._channel.close()
            _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() == parent:
                os.execvp(command[0], command)  # noqa: S606 - what the user has typed
        except OSError as error:
            os.write(2, f"{command[0]}: {error.strerror}\n".encode(errors="replace"))
            os._exit(127 if isinstance(error, FileNotFoundError) else 126)
        finally:
            os._exit(1)

    def _forward(self, number: int, _frame: FrameType | None) -> None:
        send_all([self._child], number)

    def _reap(self) -> None:
        """Also of processes whose parent has ended: this one is their parent then."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._read, 4096)
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._child:
                code = os.waitstatus_to_exitcode(status)
                self._status = code if code >= 0 else 128 - code

    def _end(self) -> None:
        with contextlib.suppress(OSError):
            self._channel.send(ENDED, socket.MSG_DONTWAIT)
        own = os.getpid()
        send_all(descendants(own) or [self._child], signal.SIGTERM)
        send_all(descendants(own), signal.SIGCONT)  # a stopped process does not see it
        until = lease_clock.now() + self._grace
        while self._left(own) and lease_clock.now() < until:
            select.select([self._read], [], [], 0.05)
            self._reap()
        until = lease_clock.now() + max(self._grace, _KILL_SECONDS)
        while self._left(own):
            send_all(descendants(own) or [self._child], signal.SIGKILL)
            select.select([self._read], [], [], 0.02)
            self._reap()
            if lease_clock.now() > until:
                self._give_up(descendants(own))

    def _give_up(self, left: list[int]) -> None:
        """Of another user, or waiting for a disk that does not answer."""
        shown = ", ".join(map(str, left))
        os.write(2, f"processes that could not be ended: {shown}\n".encode())
        os._exit(128 + signal.SIGKILL)

    def _left(self, own: int) -> bool:
        return self._status is None or bool(descendants(own))


def _prctl(option: int, value: int) -> None:
    """Only Linux has it; elsewhere processes that the command has started may be left when it is ended."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def main(arguments: list[str]) -> int:
    channel = socket.socket(fileno=int(arguments[0]))
    channel.set_inheritable(False)
    return CommandGuard(channel, float(arguments[1])).run(arguments[3:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
