"""Fifty contenders for one task, each with a session of its own on a real ZooKeeper: who is woken by what."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dev.cluster import wait_for
from dev.servers import ZooKeeper
from replicator.coordination.layout import Layout, parse_contender
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
def field(make_zookeeper: Callable[..., ZooKeeper]) -> Iterator[tuple[ZooKeeper, list[Contender]]]:
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
        yield server, contenders


def watched(server: ZooKeeper) -> Counter[str]:
    """How many sessions watch each node, as the server counts them."""
    counts: Counter[str] = Counter()
    path = ""
    for line in server.four_letter_word("wchp").splitlines():
        if line.startswith("/"):
            path = line.strip()
        elif line.strip():
            counts[path] += 1
    return counts


def test_each_is_watched_by_its_follower_and_one_death_wakes_one(field: tuple[ZooKeeper, list[Contender]]) -> None:
    server, contenders = field
    counts = watched(server)
    nodes = {path: count for path, count in counts.items() if parse_contender(path.rpartition("/")[2])}
    assert len(nodes) == CONTENDERS
    assert max(nodes.values()) <= 2, "its own session and its follower's"
    assert not counts[LAYOUT.election(TASK)], "nobody watches the whole list"
    contenders[1].participant.turn()  # as every T/4: the death is proven against what it read last
    for contender in contenders:
        contender.woken.clear()
    contenders[0].coordinator.close()
    wait_for(contenders[1].woken.is_set, "the follower to be woken", 10)
    time.sleep(0.5)
    assert [one.host for one in contenders if one.woken.is_set()] in (["host-01"], ["host-00", "host-01"])
    contenders[1].stand()
    assert contenders[1].participant.leads
