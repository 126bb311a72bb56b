"""A Redis that keeps nothing on disk, as caches are run, with a wall clock that can be set."""

from __future__ import annotations

from dev.fetch.redis import redis_server
from dev.servers.base import Server
from dev.servers.ports import ask
from dev.servers.wall_clock import WallClock


class Redis(Server):
    name = "Redis"

    @property
    def clock(self) -> WallClock:
        return WallClock(self.folder, self.name)

    def _prepare(self) -> None:
        self.clock.prepare()

    def _command(self) -> list[str]:
        options = {
            "port": str(self.port),
            "bind": self.host,
            "dir": str(self.folder),
            "save": "",
            "appendonly": "no",
            "daemonize": "no",
        }
        given = [word for name, value in options.items() for word in (f"--{name}", value)]
        return self.clock.command([*redis_server(), *given])

    def _serves(self) -> bool:
        return ask(self.port, b"PING\r\n").startswith(b"+PONG")
