"""Several servers at once, started in parallel and stopped together."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self

from dev.progress import say, step
from dev.servers.base import Server
from dev.servers.database import MariaDB, MySQL
from dev.servers.kafka import Kafka, kafka_broker
from dev.servers.zookeeper import ZooKeeper


class Stack:
    """`with Stack(mariadb=True) as stack: stack.mysql.execute(...)`; a server not asked for must not be used."""

    zookeeper: ZooKeeper
    kafka: Kafka
    mysql: MySQL
    mariadb: MariaDB

    def __init__(
        self,
        *,
        mysql: bool = True,
        mariadb: bool = False,
        kafka: bool = True,
        zookeeper: bool = True,
        fast: bool = True,
        broker: Kafka | None = None,
    ) -> None:
        """`broker`: instead of a usual one."""
        self.servers: list[Server] = []
        if zookeeper:
            self.zookeeper = ZooKeeper(fast=fast)
            self.servers.append(self.zookeeper)
        if kafka:
            self.kafka = broker or kafka_broker(fast=fast)
            self.servers.append(self.kafka)
        if mysql:
            self.mysql = MySQL(fast=fast)
            self.servers.append(self.mysql)
        if mariadb:
            self.mariadb = MariaDB(fast=fast)
            self.servers.append(self.mariadb)

    def start(self) -> Self:
        try:
            start_all(self.servers)
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        if self.servers:
            with ThreadPoolExecutor(len(self.servers)) as pool:
                list(pool.map(lambda server: server.close(), self.servers))

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def start_all(servers: list[Server]) -> None:
    """Start them in parallel; the first failure is raised after the others have come up or failed."""

    def start(server: Server) -> None:
        with step(f"starting {server.name} on {server.address}"):
            server.start()

    if not servers:
        return
    with ThreadPoolExecutor(len(servers)) as pool:
        jobs = [pool.submit(start, server) for server in servers]
    for job in jobs:
        job.result()
    say("all servers serve")
