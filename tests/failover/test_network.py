"""What one host can reach and another can't: each Core in a network of its own."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator

import pytest

from dev.faults.island import Island
from dev.servers import Kafka, MySQL, ZooKeeper
from replicator.coordination.tasks.history import History
from tests.failover.bus import Bus

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(os.geteuid() != 0, reason="a network namespace needs root"),
]
MakeBus = Callable[..., Bus]
QUICK = {"hand_over_after_s": 6}


@pytest.fixture
def islands(zookeeper: ZooKeeper, kafka: Kafka, mysql: MySQL) -> Iterator[dict[str, Island]]:
    """host-a and host-b with doors to each server."""
    doors = {"zookeeper": zookeeper.port, "kafka": kafka.port, "mysql": mysql.port}
    with contextlib.ExitStack() as stack:
        yield {host: stack.enter_context(Island(doors)) for host in ("host-a", "host-b")}


@pytest.fixture
def bus(make_bus: MakeBus, islands: dict[str, Island]) -> Bus:
    """host-a leads."""
    bus = make_bus("host-a", how={"host-a": {"prefix": islands["host-a"].enter}}, session_seconds=4.0)
    bus.cluster.core("host-b", prefix=islands["host-b"].enter)
    bus.wait_standby("host-b")
    return bus


def clean(bus: Bus, more: int = 50, timeout: float = 90) -> None:
    bus.wait_delivered(more, timeout=timeout)
    verdict = bus.verdict(timeout)
    assert verdict.clean, str(verdict)


def test_09_a_host_that_is_cut_off_from_everything(bus: Bus, islands: dict[str, Island]) -> None:
    for door in islands["host-a"].doors.values():
        door.black_hole()
    bus.wait_running(other_than="host-a")
    bus.wait_delivered(50, timeout=60)
    for door in islands["host-a"].doors.values():
        door.pass_()
    bus.wait_standby("host-a", timeout=60)
    clean(bus)


def test_09_cut_off_from_zookeeper_alone_and_still_able_to_send(bus: Bus, islands: dict[str, Island]) -> None:
    islands["host-a"].doors["zookeeper"].black_hole()
    bus.wait_running(other_than="host-a")
    bus.wait_delivered(50, timeout=60)
    islands["host-a"].doors["zookeeper"].pass_()
    bus.wait_standby("host-a", timeout=60)
    clean(bus)


def test_59_a_network_that_flaps(bus: Bus, islands: dict[str, Island]) -> None:
    """Three seconds up, three seconds down; take-overs stay few and nothing is lost or doubled."""
    before = len(bus.epochs())
    for _ in range(5):
        for door in islands["host-a"].doors.values():
            door.refuse()
        time.sleep(3)
        for door in islands["host-a"].doors.values():
            door.pass_()
        time.sleep(3)
    bus.wait_running(timeout=60)
    clean(bus)
    assert len(bus.epochs()) - before <= 5


@pytest.mark.parametrize(("door", "side"), [("kafka", "sink"), ("mysql", "source")])
def test_60_what_only_the_standby_reaches_makes_it_lead(
    make_bus: MakeBus, islands: dict[str, Island], door: str, side: str
) -> None:
    """Connections are refused; a way that loses the answers alone is not tried here. The session lives all the time."""
    bus = make_bus("host-a", how={"host-a": {"prefix": islands["host-a"].enter}}, session_seconds=4.0, settings=QUICK)
    bus.cluster.core("host-b", prefix=islands["host-b"].enter)
    bus.wait_standby("host-b")
    islands["host-a"].doors[door].refuse()
    bus.wait_running(other_than="host-a", timeout=60)
    bus.wait_delivered(50, timeout=60)
    gave_up = [e.record for e in History(bus.coordinator, bus.layout).read(bus.name) if e.record.kind == "gave up"]
    assert len(gave_up) == 1 and side in gave_up[0].reason
    islands["host-a"].doors[door].pass_()
    clean(bus)


def test_92_a_variable_that_one_host_lacks_makes_another_lead(make_bus: MakeBus, mysql: MySQL) -> None:
    secret = {"environment": {"REPL_ONE_HOST_HAS_IT": mysql.replicator[1]}}
    bus = make_bus(
        "host-a",
        "host-b",
        how={"host-b": secret},
        source={"password": "env:REPL_ONE_HOST_HAS_IT"},
        settings={"hand_over_after_s": 2},
    )
    assert bus.wait_running().host == "host-b"
    bus.wait_delivered(50)
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)
    assert sum(entry.record.kind == "gave up" for entry in History(bus.coordinator, bus.layout).read(bus.name)) <= 1


def test_60_what_nobody_reaches_moves_nothing(make_bus: MakeBus, islands: dict[str, Island]) -> None:
    bus = make_bus("host-a", how={"host-a": {"prefix": islands["host-a"].enter}}, session_seconds=4.0, settings=QUICK)
    bus.cluster.core("host-b", prefix=islands["host-b"].enter)
    bus.wait_standby("host-b")
    before = bus.look()
    for island in islands.values():
        island.doors["kafka"].refuse()
    time.sleep(20)
    assert (bus.look().host, bus.look().epoch) == (before.host, before.epoch)
    for island in islands.values():
        island.doors["kafka"].pass_()
    clean(bus)
