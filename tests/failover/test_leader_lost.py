"""The RUNNING Core goes away in every way it can, under load on real servers; the history checker judges."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

import psutil
import pytest

from dev.cluster import wait_for
from dev.servers import MariaDB, MySQL, ZooKeeper
from replicator.coordination.tasks.history import History
from tests.failover.bus import SESSION_SECONDS, Bus

pytestmark = pytest.mark.timeout(180)
MakeBus = Callable[..., Bus]


def test_01_sigkill_loses_and_repeats_nothing(make_bus: MakeBus) -> None:
    bus = make_bus()
    leader = bus.look().host
    bus.cluster.cores[leader].kill()
    after = bus.wait_running(other_than=leader)
    bus.wait_delivered(50)
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)
    assert len(bus.epochs()) == 2
    assert after.epoch == bus.epochs()[-1]
    assert bus.takeover_gap() < bus.session_seconds + 10
    assert "its session ended" in taken_over(bus), "the death was not proven, and a lease waited for"


def test_01_a_killed_leader_that_is_started_again_at_once_does_not_delay_its_successor(make_bus: MakeBus) -> None:
    """As a supervisor does: the new process joins the very moment the old one's session ends. A successor that did not
    see that end would wait two thirds of a session more, 4 s here."""
    bus = make_bus(session_seconds=6.0)
    leader = bus.look().host
    bus.cluster.cores[leader].kill()
    bus.cluster.core(leader)
    bus.wait_running(other_than=leader)
    bus.wait_delivered(50)
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)
    assert bus.takeover_gap() < bus.session_seconds + 3


def test_01_sigkill_at_least_once_repeats_a_bounded_window(make_bus: MakeBus) -> None:
    bus = make_bus(sink={"delivery": "at_least_once"})
    leader = bus.look().host
    bus.cluster.cores[leader].kill()
    bus.wait_running(other_than=leader)
    bus.wait_delivered(50)
    verdict = bus.verdict()
    assert verdict.lost == []
    assert verdict.reordered == []
    assert verdict.stale == []
    assert verdict.differing == []
    assert len(verdict.duplicated) < 40 * 3.5 * 3  # some three seconds of the writer's rate, a generous window


def test_01_sigkill_on_mariadb(make_bus: MakeBus, mariadb: MariaDB) -> None:
    bus = make_bus(database=mariadb)
    leader = bus.look().host
    bus.cluster.cores[leader].kill()
    bus.wait_running(other_than=leader)
    bus.wait_delivered(50)
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)


def test_02_sigterm_hands_over_at_once(make_bus: MakeBus) -> None:
    bus = make_bus()
    leader = bus.look().host
    assert bus.cluster.cores[leader].terminate() == 0
    bus.wait_running(other_than=leader)
    bus.wait_delivered(50)
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)
    assert bus.takeover_gap() < 10


def test_03_a_leader_frozen_longer_than_its_session_emits_nothing_when_it_wakes(make_bus: MakeBus) -> None:
    """There is no counter of terms that were ended from outside: the history has an entry for each."""
    bus = make_bus()
    before = bus.look()
    leader = before.host
    bus.cluster.cores[leader].pause()
    bus.wait_running(other_than=leader)
    bus.wait_delivered(50)
    time.sleep(SESSION_SECONDS)
    bus.cluster.cores[leader].resume()
    bus.wait_standby(leader)
    bus.wait_delivered(50)
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)
    assert bus.look().host != leader
    entries = [entry.record for entry in History(bus.coordinator, bus.layout).read(bus.name)]
    [lost] = [entry for entry in entries if entry.kind == "lost"]
    assert (lost.host, lost.epoch) == (leader, before.epoch) and "takes over" in lost.reason, lost
    assert "state=lost" in bus.cluster.cores[leader].tail(50), "the one that woke says what has become of its session"


def test_04_a_leader_frozen_shorter_than_its_lease_goes_on(make_bus: MakeBus) -> None:
    bus = make_bus(session_seconds=8.0)
    before = bus.look()
    bus.cluster.cores[before.host].pause()
    time.sleep(1.5)
    bus.cluster.cores[before.host].resume()
    bus.wait_delivered(50)
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)
    assert (bus.look().host, bus.look().epoch) == (before.host, before.epoch)


def test_a_worker_that_is_frozen_for_good_is_replaced_under_the_same_term(make_bus: MakeBus) -> None:
    bus = make_bus()
    before = bus.look()
    assert before.figures is not None
    os.kill(before.figures.worker_pid, signal.SIGSTOP)
    bus.wait_delivered(50, timeout=30)
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)
    assert (bus.look().host, bus.look().epoch) == (before.host, before.epoch)


@pytest.mark.parametrize("stopped", ["worker", "worker and template"])
def test_90_a_stopped_worker_ends_with_its_core(make_bus: MakeBus, stopped: str) -> None:
    bus = make_bus()
    before = bus.look()
    assert before.figures is not None
    worker = psutil.Process(before.figures.worker_pid)
    template = worker.parent()
    assert template is not None
    for process in [worker, template] if "template" in stopped else [worker]:
        process.suspend()
    bus.cluster.cores[before.host].kill()
    _, alive = psutil.wait_procs([worker, template], timeout=10)
    assert not [process for process in alive if process.status() != psutil.STATUS_ZOMBIE]
    bus.wait_running(other_than=before.host)
    bus.wait_delivered(50)
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)


def test_05_all_cores_killed_and_one_started_again(make_bus: MakeBus) -> None:
    bus = make_bus()
    hosts = list(bus.cluster.cores)
    for host in hosts:
        bus.cluster.cores[host].kill()
    time.sleep(1)
    bus.cluster.core(hosts[0])
    bus.wait_running()
    bus.wait_delivered(50)
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)


def test_06_a_standby_killed_changes_nothing(make_bus: MakeBus) -> None:
    bus = make_bus()
    before = bus.look()
    standby = before.standbys[0].host
    bus.cluster.cores[standby].kill()
    wait_for(lambda: not bus.look().standbys, "the standby's node to go", 30)
    wait_for(lambda: "no standby" in bus.monitored().get("notes", ()), "that no standby is left to be shown", 20)
    bus.wait_delivered(50)
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)
    assert bus.look().epoch == before.epoch


def test_16_own_znode_deleted_by_an_operator(make_bus: MakeBus) -> None:
    bus = make_bus()
    before = bus.look()
    assert before.running is not None
    name = next(name for name in bus.coordinator.children(bus.layout.election(bus.name)) if before.running.guid in name)
    bus.coordinator.delete(bus.layout.contender(bus.name, name))
    after = bus.wait_running(other_than=before.host)
    bus.wait_standby(before.host)
    bus.wait_delivered(50)
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)
    assert after.epoch > before.epoch


def test_16_both_own_znodes_deleted_by_an_operator(make_bus: MakeBus) -> None:
    """The leader can't see it, for it is frozen, and goes on when the standby believes that it is dead."""
    bus = make_bus(session_seconds=6.0)
    before = bus.look()
    assert before.running is not None
    name = next(name for name in bus.coordinator.children(bus.layout.election(bus.name)) if before.running.guid in name)
    leader = bus.cluster.cores[before.host]
    leader.pause()
    began = time.monotonic()
    bus.coordinator.delete(bus.layout.machine(before.host))
    bus.coordinator.delete(bus.layout.contender(bus.name, name))
    time.sleep(1.5)
    leader.resume()
    after = bus.wait_running(other_than=before.host)
    assert time.monotonic() - began >= bus.session_seconds * 2 / 3
    bus.wait_standby(before.host)
    bus.wait_delivered(50)
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)
    assert after.epoch > before.epoch
    assert "its znode is gone" in taken_over(bus)


def taken_over(bus: Bus) -> str:
    """What the history says of the first take-over."""
    entries = [entry.record for entry in History(bus.coordinator, bus.layout).read(bus.name)]
    return next(entry.reason for entry in entries if "takes over" in entry.reason)


def test_31_mysql_killed_and_restarted(make_bus: MakeBus, make_mysql: Callable[..., MySQL]) -> None:
    server = make_mysql()
    bus = make_bus(database=server)
    server.kill()
    server.start()
    bus.wait_delivered(50)
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)
    assert len(bus.epochs()) == 1


def test_14_zookeeper_restarted_with_its_sessions(make_bus: MakeBus, make_zookeeper: Callable[..., ZooKeeper]) -> None:
    server = make_zookeeper()
    bus = make_bus(zookeeper=server, session_seconds=6.0)
    before = bus.look()
    server.kill()
    time.sleep(1)
    server.start()
    bus.wait_delivered(50)
    after = bus.wait_running()
    assert (after.host, after.epoch) == (before.host, before.epoch)
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)


def test_switchover_goes_to_the_named_host_without_a_gap(make_bus: MakeBus) -> None:
    bus = make_bus("host-a", "host-b", "host-c")
    wait_for(lambda: len(bus.look().standbys) == 2, "two standbys", 40)
    before = bus.look()
    target = before.standbys[-1].host
    bus.cluster.cli("task", "switchover", bus.name, "--to", target)
    after = bus.wait_running(other_than=before.host)
    bus.wait_delivered(50)
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)
    assert after.host == target
    assert bus.takeover_gap() < 10
    bus.wait_standby(before.host)


def test_pause_and_resume_lose_nothing(make_bus: MakeBus) -> None:
    bus = make_bus()
    bus.cluster.cli("task", "pause", bus.name)
    wait_for(lambda: bus.look().state == "paused", "paused", 20)
    quiet = len(bus.seen())
    time.sleep(1)
    assert len(bus.seen()) == quiet
    bus.cluster.cli("task", "resume", bus.name)
    bus.wait_running()
    bus.wait_delivered(50)
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)
