"""Three ZooKeepers and three brokers, for tests that need a quorum."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Generic, Self, TypeVar

from dev.errors import ServerFailed
from dev.fetch.once import run
from dev.servers.base import Server
from dev.servers.kafka import Kafka, random_uuid
from dev.servers.ports import free_port
from dev.servers.zookeeper import ZooKeeper

S = TypeVar("S", bound=Server)


class Ensemble(Generic[S]):
    """Members that are started and closed together. Each may be killed, paused, started alone."""

    def __init__(self, members: list[S]) -> None:
        self.members = members

    @property
    def address(self) -> str:
        """All of them, as clients take it."""
        return ",".join(member.address for member in self.members)

    def start(self) -> Self:
        """In parallel: none of them serves without another one."""
        with ThreadPoolExecutor(len(self.members)) as pool:
            for job in [pool.submit(member.start) for member in self.members]:
                job.result()
        return self

    def close(self) -> None:
        with ThreadPoolExecutor(len(self.members)) as pool:
            list(pool.map(lambda member: member.close(), self.members))

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class ZooKeeperEnsemble(Ensemble[ZooKeeper]):
    def __init__(
        self, size: int = 3, *, fast: bool = True, tick_time: int = 500, make: Callable[..., ZooKeeper] = ZooKeeper
    ) -> None:
        """`make`: of a member."""
        peers = {number: (free_port(), free_port()) for number in range(1, size + 1)}
        super().__init__([make(fast=fast, tick_time=tick_time, peers=peers, number=number) for number in sorted(peers)])

    def leader(self, timeout: float = 20.0) -> ZooKeeper:
        """The member that leads; waits for an election. Raises ServerFailed."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            for member in self.members:
                if member.running and member.mode == "leader":
                    return member
            time.sleep(0.1)
        raise ServerFailed("ZooKeeper", f"no leader within {timeout} s")


class _Broker(Kafka):
    """Broker and controller, one of several."""

    def __init__(self, number: int, controllers: dict[int, tuple[int, str]], cluster: str, *, fast: bool) -> None:
        copies = min(3, len(controllers))
        least = max(1, copies - 1)
        super().__init__(
            fast=fast,
            heap="384m",
            modest=True,
            properties={
                "node.id": number,
                "controller.quorum.bootstrap.servers": ",".join(f"127.0.0.1:{p}" for p, _ in controllers.values()),
                "offsets.topic.replication.factor": copies,
                "transaction.state.log.replication.factor": copies,
                "transaction.state.log.min.isr": least,
                "default.replication.factor": copies,
                "min.insync.replicas": least,
                "replica.lag.time.max.ms": 4000,
            },
        )
        self.controller_port = controllers[number][0]
        self._controllers, self._cluster = controllers, cluster

    def _format(self, tool: list[str], settings: str) -> None:
        voters = ",".join(f"{n}@127.0.0.1:{port}:{folder}" for n, (port, folder) in self._controllers.items())
        run(self.name, [*tool, "format", "--initial-controllers", voters, "-t", self._cluster, "-c", settings])


class KafkaCluster(Ensemble[Kafka]):
    """KRaft, each member broker and controller; topics have three copies of which two must be in step."""

    def __init__(self, size: int = 3, *, fast: bool = True) -> None:
        ids = [random_uuid() for _ in range(size + 1)]
        controllers = {number: (free_port(), ids[number]) for number in range(1, size + 1)}
        super().__init__([_Broker(number, controllers, ids[0], fast=fast) for number in sorted(controllers)])

    @property
    def bootstrap(self) -> str:
        return self.address
