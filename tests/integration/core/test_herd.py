"""Fifty contenders for one task, each with a session of its own on a real ZooKeeper: who is woken by what."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dev.cluster import wait_for
from dev.servers import ZooKeeper
from replicator.coordination.layout import Layout
from replicator.coordination.leadership.contender import Identity
from replicator.coordination.leadership.participant import Participant
from replicator.coordination.leadership.state import State
from replicator.coordination.machines.machines import Machines
from replicator.coordination.records import MachineRecord
from replicator.coordination.tasks.registry import Registry
from replicator.zookeeper.client import ZookeeperCoordinator, connect

CONTENDERS = 50
TASK = "orders"
LAYOUT = Layout("/herd")


class NoWorkers:
    """Nothing is delivered here."""

    def start(self, *facts: Any) -> None:
        return

    def drain(self) -> None:
        return

    def kill(self) -> None:
        return


class Contender:
    def __init__(self, address: str, number: int) -> None:
        self.woken = threading.Event()
        self.coordinator: ZookeeperCoordinator = connect(address, session_timeout=20)
        self.host = f"host-{number:02}"
        self.participant = Participant(
            self.coordinator,
            LAYOUT,
            TASK,
            Identity(self.host, 1, self.host),
            NoWorkers(),
            time.monotonic,
            lambda config: config,
            self.woken.set,
        )

    def stand(self) -> None:
        record = MachineRecord(host=self.host, pid=1, process=self.host, started_ms=0, time_ms=0)
        Machines(self.coordinator, LAYOUT).publish(self.host, record)
        for _ in range(5):
            self.participant.turn()


@pytest.fixture
def field(make_zookeeper: Callable[..., ZooKeeper]) -> Iterator[list[Contender]]:
    """The first of them leads."""
    server = make_zookeeper()
    with contextlib.ExitStack() as sessions:
        contenders = []
        for number in range(CONTENDERS):
            contenders.append(Contender(server.address, number))
            sessions.callback(contenders[-1].coordinator.close)
        Registry(contenders[0].coordinator, LAYOUT).create(TASK, {"name": TASK}, "test")
        for contender in contenders:
            contender.stand()
        assert contenders[0].participant.leads
        assert {one.participant.state for one in contenders[1:]} == {State.STANDBY}
        yield contenders


@pytest.mark.parametrize("gone", [0, 20])
def test_one_death_wakes_the_follower_alone(field: list[Contender], gone: int) -> None:
    """The server lists no watches of children (`wchp`), so what counts is who is woken."""
    follower = field[gone + 1]
    follower.participant.turn()  # as every T/4: the death is proven against what it read last
    for contender in field:
        contender.woken.clear()
    field[gone].coordinator.close()
    wait_for(follower.woken.is_set, "the follower to be woken", 10)
    time.sleep(0.5)
    woken = {one.host for one in field if one.woken.is_set()} - {field[gone].host}
    assert woken == {follower.host}
    follower.stand()
    assert follower.participant.leads == (gone == 0)
