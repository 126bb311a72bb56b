"""A network of its own for a process, with one cable to this machine that can be cut: packets are dropped both ways,
and nobody is told. Unlike an `Island`, whose doors are proxies, connections here end at the servers themselves.
"""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from dev.errors import ServerFailed
from dev.faults.namespace import Namespace


class Cable:
    """`with Cable() as cable: Process(..., prefix=cable.enter)`. Needs root.

    Attributes:
        near: address of this machine, at which servers have to listen, as it is reached from inside.
    """

    def __init__(self) -> None:
        token = uuid.uuid4().hex
        self._namespace = Namespace()
        self._near_end, self._far_end = f"cn{token[:8]}", f"cf{token[:8]}"
        second, third = int(token[8:10], 16), int(token[10:12], 16)
        self.near, self._far = f"10.{second}.{third}.1", f"10.{second}.{third}.2"

    @property
    def enter(self) -> list[str]:
        """What a command is prefixed with to run inside."""
        return self._namespace.enter

    def __enter__(self) -> Self:
        try:
            self._namespace.open()
            peer = ("peer", "name", self._far_end, "netns", str(self._namespace.pid))
            _ip("link", "add", self._near_end, "type", "veth", *peer)
            _ip("addr", "add", f"{self.near}/30", "dev", self._near_end)
            _ip("link", "set", self._near_end, "up")
            self._inside("addr", "add", f"{self._far}/30", "dev", self._far_end)
            self._inside("link", "set", self._far_end, "up")
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
        nobody = ("lladdr", "02:00:00:00:00:01", "nud", "permanent")
        self._inside("neigh", "replace", self.near, "dev", self._far_end, *nobody)
        _ip("neigh", "replace", self._far, "dev", self._near_end, *nobody)

    def mend(self) -> None:
        self._inside("neigh", "del", self.near, "dev", self._far_end)
        _ip("neigh", "del", self._far, "dev", self._near_end)

    def close(self) -> None:
        subprocess.run(["ip", "link", "del", self._near_end], capture_output=True, check=False)
        self._namespace.close()

    def _inside(self, *arguments: str) -> None:
        _ip(*arguments, prefix=self._namespace.enter)


def _ip(*arguments: str, prefix: Sequence[str] = ()) -> None:
    done = subprocess.run([*prefix, "ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ServerFailed("cable", f"ip {' '.join(arguments)}: {done.stderr.strip()}")
