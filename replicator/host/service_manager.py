"""Notifies systemd about this process: ready, alive, stopping (the protocol of sd_notify(3)).

systemd gives the socket in NOTIFY_SOCKET and, for units with WatchdogSec, the longest silence in WATCHDOG_USEC. Without
them nothing is sent. https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Mapping

_TIMES_PER_WATCHDOG = 3
"""Messages within one WatchdogSec, so that a late one is not the end."""


class ServiceManager:
    """Args: environment: the process's; it is not changed, and workers are not asked for messages (WATCHDOG_PID)."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        path = environment.get("NOTIFY_SOCKET", "")
        self._address = "\0" + path[1:] if path.startswith("@") else path
        self._interval = _watchdog_seconds(environment) / _TIMES_PER_WATCHDOG
        self._due = float("-inf")

    def ready(self, status: str) -> None:
        """The service has started. status: one line, which `systemctl status` shows; may be sent again."""
        self._send(f"READY=1\nSTATUS={status}")

    def alive(self, now: float) -> None:
        """Called at each turn of the main loop; sends a third of WatchdogSec apart. now: monotonic seconds."""
        if self._interval and now >= self._due:
            self._due = now + self._interval
            self._send("WATCHDOG=1")

    def stopping(self, status: str) -> None:
        self._send(f"STOPPING=1\nSTATUS={status}")

    def _send(self, message: str) -> None:
        """Never waits and never fails: a process that cannot tell goes on with its work."""
        if not self._address.startswith(("/", "\0")):
            return
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as way:
            way.setblocking(False)
            way.sendto(message.encode(), self._address)


def _watchdog_seconds(environment: Mapping[str, str]) -> float:
    """0: nobody watches this process."""
    if environment.get("WATCHDOG_PID", "") not in ("", str(os.getpid())):
        return 0.0
    try:
        return max(0, int(environment.get("WATCHDOG_USEC", ""))) / 1e6
    except ValueError:
        return 0.0
