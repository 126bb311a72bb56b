"""The ways that the Cores take to ZooKeeper, one each, and to MySQL: proxies that the nemesis may cut."""

from __future__ import annotations

from collections.abc import Iterable

from dev.faults.proxy import Proxy
from dev.servers.base import Server


class Ways:
    def __init__(self, hosts: Iterable[str], zookeeper: Server, mysql: Server) -> None:
        self.zookeeper = {host: Proxy(zookeeper.port) for host in hosts}
        self.mysql = Proxy(mysql.port)

    def start(self) -> None:
        for proxy in self._all():
            proxy.__enter__()

    def close(self) -> None:
        for proxy in self._all():
            proxy.close()

    def open_all(self) -> None:
        """Everything goes through again."""
        for proxy in self._all():
            proxy.pass_()

    def _all(self) -> list[Proxy]:
        return [*self.zookeeper.values(), self.mysql]
