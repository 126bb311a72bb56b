"""The three kinds of locks that are compared, behind one interface."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Sequence
from typing import Final, Protocol

from dev.locks.redis_client import RedisClient
from replicator.coordination.layout import Layout
from replicator.coordination.recipes.claim_nodes import Owner
from replicator.coordination.recipes.hold import Hold
from replicator.coordination.recipes.keeper import Keeper
from replicator.coordination.recipes.locks import Locks
from replicator.errors import CoordinationError
from replicator.zookeeper.client import connect

NAME: Final = "compared"
_RETRY: Final = 0.01
"""Seconds between attempts at Redis, at random up to twice that: there is no queue."""
_DRIFT: Final = 0.01
"""Of the time to live, as the description of Redlock has it; and 2 ms."""


class Client(Protocol):
    """One owner. `token`: None where the system has none."""

    token: int | None

    def acquire(self, wait: float) -> bool: ...

    def valid(self) -> bool:
        """What the owner believes by its own clock."""
        ...

    def release(self) -> None: ...

    def close(self) -> None: ...


class RedisLock:
    """SET NX PX with a random value, and compare-and-delete: at one server, or at a majority of five (Redlock)."""

    token: int | None = None

    def __init__(self, ports: Sequence[int], ttl: float) -> None:
        self._servers = [RedisClient(port, max(0.05, ttl / 20) if len(ports) > 1 else ttl) for port in ports]
        self._ttl = ttl
        self._value = ""
        self._until = 0.0

    def acquire(self, wait: float) -> bool:
        end = time.monotonic() + wait
        while True:
            if self._try():
                return True
            if time.monotonic() >= end:
                return False
            time.sleep(_RETRY + random.random() * _RETRY)

    def _try(self) -> bool:
        self._value = uuid.uuid4().hex
        begun, count = time.monotonic(), 0
        for server in self._servers:
            try:
                count += server.set_if_absent(NAME, self._value, int(self._ttl * 1000))
            except OSError:
                continue
        self._until = begun + self._ttl - self._ttl * _DRIFT - 0.002
        if count > len(self._servers) // 2 and self.valid():
            return True
        if count or len(self._servers) > 1:
            self.release()
        return False

    def valid(self) -> bool:
        return time.monotonic() < self._until

    def release(self) -> None:
        self._until = 0.0
        for server in self._servers:
            try:
                server.delete_if(NAME, self._value)
            except OSError:
                continue

    def close(self) -> None:
        for server in self._servers:
            server.close()


class ZookeeperLock:
    """Locks of this repository. The session timeout takes the place of the time to live."""

    token: int | None = None

    def __init__(self, hosts: str, timeout: float) -> None:
        self._coordinator = connect(hosts, timeout)
        self._locks = Locks(self._coordinator, Layout("/compared"), Owner(by="bench", host="h", pid=1))
        self._keeper = Keeper(self._locks.keep, self._coordinator.session_timeout)
        self._keeper.__enter__()
        self._hold: Hold | None = None

    def acquire(self, wait: float) -> bool:
        try:
            self._hold = self._locks.acquire(NAME, wait=wait)
        except CoordinationError:
            return False
        self.token = self._hold.token
        return True

    def valid(self) -> bool:
        return self._hold is not None and self._hold.valid()

    def release(self) -> None:
        if self._hold is not None:
            self._locks.release(self._hold)
            self._hold = None

    def close(self) -> None:
        self._keeper.__exit__()
        self._coordinator.close()


def client(system: str, where: str, ttl: float) -> Client:
    """`where`: ports of Redis with commas between them, or ZooKeeper's addresses."""
    if system == "zookeeper":
        return ZookeeperLock(where, ttl)
    return RedisLock([int(port) for port in where.split(",")], ttl)
