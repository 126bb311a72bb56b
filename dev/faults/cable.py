"""A network of its own for a process, with one cable to this machine that can be cut: packets are dropped both ways,
and nobody is told. Unlike an `Island`, whose doors are proxies, connections here end at the servers themselves.
"""

from __future__ import annotations

import subprocess
import uuid
from types import TracebackType
from typing import Self

from dev.errors import ServerFailed


class Cable:
    """`with Cable() as cable: Process(..., prefix=cable.enter)`. Needs root.

    Attributes:
        near: address of this machine, at which servers have to listen, as it is reached from inside.
    """

    def __init__(self) -> None:
        token = uuid.uuid4().hex
        self._space = f"cable-{token[:8]}"
        self._near_end, self._far_end = f"cn{token[:8]}", f"cf{token[:8]}"
        second, third = int(token[8:10], 16), int(token[10:12], 16)
        self.near, self._far = f"10.{second}.{third}.1", f"10.{second}.{third}.2"

    @property
    def enter(self) -> list[str]:
        """What a command is prefixed with to run inside."""
        return ["ip", "netns", "exec", self._space]

    def __enter__(self) -> Self:
        try:
            _ip("netns", "add", self._space)
            _ip("link", "add", self._near_end, "type", "veth", "peer", "name", self._far_end, "netns", self._space)
            _ip("addr", "add", f"{self.near}/30", "dev", self._near_end)
            _ip("link", "set", self._near_end, "up")
            _ip("-n", self._space, "addr", "add", f"{self._far}/30", "dev", self._far_end)
            _ip("-n", self._space, "link", "set", self._far_end, "up")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def cut(self) -> None:
        """Each end hears nothing of the other any more."""
        for neighbour in (["-n", self._space, "neigh"], ["neigh"]):
            address, device = (self.near, self._far_end) if neighbour[0] == "-n" else (self._far, self._near_end)
            _ip(*neighbour, "replace", address, "lladdr", "02:00:00:00:00:01", "dev", device, "nud", "permanent")

    def mend(self) -> None:
        _ip("-n", self._space, "neigh", "del", self.near, "dev", self._far_end)
        _ip("neigh", "del", self._far, "dev", self._near_end)

    def close(self) -> None:
        subprocess.run(["ip", "netns", "del", self._space], capture_output=True, check=False)
        subprocess.run(["ip", "link", "del", self._near_end], capture_output=True, check=False)


def _ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ServerFailed("cable", f"ip {' '.join(arguments)}: {done.stderr.strip()}")
