"""A network of its own for a process, with doors to chosen ports of this machine: what one host can reach, as a test
orders it. The process keeps using 127.0.0.1 and the ports that everybody else uses.
"""

from __future__ import annotations

import socket
from functools import partial
from types import TracebackType
from typing import Self

from dev.faults.namespace import Namespace
from dev.faults.proxy import Proxy


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
        self._namespace = Namespace()

    @property
    def enter(self) -> list[str]:
        """What a command is prefixed with to run inside."""
        return self._namespace.enter

    def __enter__(self) -> Self:
        try:
            self._namespace.open()
            for name, port in self._ports.items():
                listener = self._namespace.run(partial(_listening, port))
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
        self._namespace.close()


def _listening(port: int) -> socket.socket:
    return socket.create_server(("127.0.0.1", port), backlog=128)
