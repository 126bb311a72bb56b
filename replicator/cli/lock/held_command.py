"""Runs a command while a lock, or the item of a queue, is held."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from replicator.cli.lock.guard import DEADLINE, ENDED, descendants, send_all
from replicator.coordination.recipes.hold import Hold, lost
from replicator.coordination.recipes.keeper import Keeper
from replicator.errors import ProcessError
from replicator.model import lease_clock

_POLL: Final = 0.25
_FORWARDED: Final = (signal.SIGTERM, signal.SIGHUP)
_OF_TERMINAL: Final = (signal.SIGINT, signal.SIGQUIT)


def require(command: Sequence[str]) -> None:
    """Before anything is locked. Raises ProcessError E5142."""
    if shutil.which(command[0]) is None:
        raise ProcessError("E5142", "the command was not started", found=repr(command[0][:200]))


class HeldCommand:
    """
    Args:
        keep: confirms the hold; called every T/6 in a separate thread.
        timeout: T. The command gets SIGTERM at the end of the lease, 2/3 T after its last confirmation, and SIGKILL T/6
            later: T/6 before another process can have the lock.
    """

    def __init__(self, hold: Hold, keep: Callable[[], None], timeout: float) -> None:
        self._hold = hold
        self._keep = keep
        self._timeout = timeout
        self._grace = timeout / 6
        self._channel, self._other = socket.socketpair()

    def run(self, command: Sequence[str], variables: Mapping[str, str]) -> int:
        """Exit status of the command. Raises CoordinationError E4071 when it was ended with the lease."""
        self._send()
        guard = [sys.executable, "-P", "-m", "replicator.cli.lock.guard"]
        given = [str(self._other.fileno()), str(self._grace), "--", *command]
        process = subprocess.Popen([*guard, *given], pass_fds=[self._other.fileno()], env={**os.environ, **variables})
        self._other.close()
        before = self._handle_signals(process)
        try:
            with Keeper(self._kept, self._timeout):
                status = self._wait(process)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        if self._was_ended():
            raise lost(self._hold.name)
        return status if status >= 0 else 128 - status

    def _kept(self) -> None:
        self._keep()
        self._send()

    def _send(self) -> None:
        try:
            self._channel.send(DEADLINE.pack(self._hold.lease.deadline), socket.MSG_DONTWAIT)
        except OSError:
            return  # the guard has ended, or is stopped: its last deadline counts

    def _handle_signals(self, process: subprocess.Popen[bytes]) -> dict[int, Any]:
        def forward(number: int, _: object) -> None:
            process.send_signal(number)

        before: dict[int, Any] = {number: signal.signal(number, forward) for number in _FORWARDED}
        for number in _OF_TERMINAL:
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, forward if not _terminal() else lambda *_: None)
        return before

    def _wait(self, process: subprocess.Popen[bytes]) -> int:
        over_since = 0.0
        while True:
            try:
                return process.wait(_POLL)
            except subprocess.TimeoutExpired:
                now = lease_clock.now()
            over_since = 0.0 if self._hold.valid() else over_since or now
            if over_since and now - over_since > self._grace + 2 * _POLL:
                self._end_by_force(process)

    def _end_by_force(self, process: subprocess.Popen[bytes]) -> None:
        """The guard should have done so: it is stopped."""
        send_all([*descendants(process.pid), process.pid], signal.SIGKILL)

    def _was_ended(self) -> bool:
        with self._channel:
            try:
                ended = self._channel.recv(1, socket.MSG_DONTWAIT) == ENDED
            except OSError:
                ended = False
        return ended or not self._hold.valid()


def _terminal() -> bool:
    try:
        return os.isatty(0)
    except OSError:
        return False
