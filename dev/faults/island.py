"""A network of its own for a process, with doors to chosen ports of this machine: what one host can reach, as a test
orders it. The process keeps using 127.0.0.1 and the ports that everybody else uses.
"""

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
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from dev.errors import ServerFailed
from dev.faults.proxy import Proxy

_CLONE_NEWNET = 0x40000000
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 0x1
_libc = ctypes.CDLL(None, use_errno=True)


class Island:
    """`with Island({"kafka": 9092}) as island: Process(..., prefix=island.enter)`. Needs root.

    Args:
        doors: name -> port of this machine that can be reached inside as 127.0.0.1:port.
        address: where servers see its connections come from, one of 127.0.0.0/8; "": 127.0.0.1.
    """

    def __init__(self, doors: dict[str, int], address: str = "") -> None:
        self._ports = doors
        self._address = address
        self.doors: dict[str, Proxy] = {}
        self._keeper: subprocess.Popen[bytes] | None = None

    @property
    def enter(self) -> list[str]:
        """What a command is prefixed with to run inside."""
        return ["nsenter", f"--net=/proc/{self._pid}/ns/net", "--"]

    @property
    def _pid(self) -> int:
        if self._keeper is None:
            raise ServerFailed("island", "was not entered")
        return self._keeper.pid

    def __enter__(self) -> Self:
        self._keeper = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        try:
            _await_own_network(self._pid)
            _inside(self._pid, _raise_loopback)
            for name, port in self._ports.items():
                listener = _inside(self._pid, partial(_listening, port))
                self.doors[name] = Proxy(port, listener=listener, source=self._address).__enter__()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        for door in self.doors.values():
            door.close()
        if self._keeper is not None:
            self._keeper.kill()
            self._keeper.wait()


def _await_own_network(pid: int) -> None:
    """`unshare` has made its namespace once it is no longer ours."""
    ours = Path("/proc/self/ns/net").readlink()
    end = time.monotonic() + 5
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/ns/net").readlink() != ours:
                return
        time.sleep(0.01)
    raise ServerFailed("island", "no network namespace could be made")


def _inside(pid: int, action: Callable[[], Any]) -> Any:
    """What `action` gives when it runs in the namespace of `pid`: in a thread of its own, as a thread can't go back."""
    result: list[Any] = []

    def run() -> None:
        try:
            with Path(f"/proc/{pid}/ns/net").open() as namespace:
                if _libc.setns(namespace.fileno(), _CLONE_NEWNET):
                    raise OSError(ctypes.get_errno(), "setns")
            result.append(action())
        except OSError as error:
            result.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(result[0], OSError):
        raise result[0]
    return result[0]


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        request = struct.pack("16sh", b"lo", 0)
        flags = struct.unpack("16sh", fcntl.ioctl(probe, _SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(probe, _SIOCSIFFLAGS, struct.pack("16sh", b"lo", flags | _IFF_UP))


def _listening(port: int) -> socket.socket:
    return socket.create_server(("127.0.0.1", port), backlog=128)
