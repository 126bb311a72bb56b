"""Proxies between each Core and ZooKeeper, MySQL and Kafka, which the fault injector can cut."""

from __future__ import annotations

from collections.abc import Iterable

from dev.faults.proxy import Proxy
from dev.servers.base import Server
from dev.servers.kafka import Kafka
from dev.servers.ports import free_port


class DooredKafka(Kafka):
    """A broker with a second way in, through a proxy: who begins at `door.address` is told of no other."""

    def __init__(self, *, fast: bool = False) -> None:
        super().__init__(fast=fast)
        self._inner = free_port()
        self.door = Proxy(self._inner)

    def _command(self) -> list[str]:
        """Compiled little: it is started again so often that it would do nothing else."""
        modest = self._java("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
        return [*modest, "kafka.Kafka", str(self.folder / "server.properties")]

    def _settings(self) -> dict[str, object]:
        usual = super()._settings()
        return {
            **usual,
            "listeners": f"{usual['listeners']},DOOR://{self.host}:{self._inner}",
            "advertised.listeners": f"{usual['advertised.listeners']},DOOR://{self.door.address}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,DOOR:PLAINTEXT",
            "inter.broker.listener.name": "PLAINTEXT",
        }


class Ways:
    def __init__(self, hosts: Iterable[str], zookeeper: Server, mysql: Server, kafka: DooredKafka) -> None:
        self.zookeeper = {host: Proxy(zookeeper.port) for host in hosts}
        self.mysql = Proxy(mysql.port)
        self.kafka = kafka.door

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
        return [*self.zookeeper.values(), self.mysql, self.kafka]
