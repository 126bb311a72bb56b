"""A network namespace for a process, without any connection unless one is added. Requires root."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from dev.errors import ServerFailed

T = TypeVar("T")
_CLONE_NEWNET = 0x40000000
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 0x1
_libc = ctypes.CDLL(None, use_errno=True)


class Namespace:
    """Kept by a process that sleeps; gone with it, and so is every interface in it."""

    def __init__(self) -> None:
        self._keeper: subprocess.Popen[bytes] | None = None

    @property
    def enter(self) -> list[str]:
        """What a command is prefixed with to run inside."""
        return ["nsenter", f"--net=/proc/{self.pid}/ns/net", "--"]

    @property
    def pid(self) -> int:
        if self._keeper is None:
            raise ServerFailed("namespace", "was not opened")
        return self._keeper.pid

    def open(self) -> None:
        """With its loopback up. `close` is due also where this raises."""
        self._keeper = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        self._await_own_network()
        self.run(_raise_loopback)

    def close(self) -> None:
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            keeper.kill()
            keeper.wait()

    def run(self, action: Callable[[], T]) -> T:
        """What `action` gives inside: in a thread of its own, as a thread can't go back. Raises its OSError."""
        result: list[T | OSError] = []

        def run() -> None:
            try:
                with Path(f"/proc/{self.pid}/ns/net").open() as namespace:
                    if _libc.setns(namespace.fileno(), _CLONE_NEWNET):
                        raise OSError(ctypes.get_errno(), "setns")
                result.append(action())
            except OSError as error:
                result.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        found = result[0]
        if isinstance(found, OSError):
            raise found
        return found

    def _await_own_network(self) -> None:
        """`unshare` has made its namespace once it is no longer ours."""
        ours = Path("/proc/self/ns/net").readlink()
        end = time.monotonic() + 5
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                if Path(f"/proc/{self.pid}/ns/net").readlink() != ours:
                    return
            time.sleep(0.01)
        raise ServerFailed("namespace", "no network namespace could be made")


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        request = struct.pack("16sh", b"lo", 0)
        flags = struct.unpack("16sh", fcntl.ioctl(probe, _SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(probe, _SIOCSIFFLAGS, struct.pack("16sh", b"lo", flags | _IFF_UP))
