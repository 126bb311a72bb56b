"""ZooKeeper, and the way to it, in every condition: under load, on real servers; the history checker judges."""

from __future__ import annotations

import contextlib
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from dev.cluster import wait_for
from dev.faults.clock import still_by, wrong_by
from dev.faults.proxy import Proxy
from dev.servers import ZooKeeper
from dev.servers.ensembles import ZooKeeperEnsemble
from replicator.coordination.leadership.election import Election
from replicator.coordination.tasks.commits import Commits
from tests.failover.bus import Bus

pytestmark = pytest.mark.timeout(240)
MakeBus = Callable[..., Bus]
T = 4.0


def clean(bus: Bus, more: int = 50, timeout: float = 60) -> None:
    bus.wait_delivered(more, timeout=timeout)
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)


@pytest.fixture
def way(zookeeper: ZooKeeper) -> Iterator[Proxy]:
    """The leader's own way to ZooKeeper."""
    with Proxy(zookeeper.port) as proxy:
        yield proxy


@pytest.fixture
def proxied(make_bus: MakeBus, way: Proxy) -> Bus:
    """host-a leads, and its way can be cut; host-b stands by with a way of its own."""
    bus = make_bus("host-a", how={"host-a": {"zookeeper": way.address}}, session_seconds=T)
    bus.cluster.core("host-b")
    bus.wait_standby("host-b")
    assert bus.look().host == "host-a"
    return bus


def test_07_two_cores_of_one_host_name_are_told_apart(make_bus: MakeBus) -> None:
    bus = make_bus("host-a")
    first = bus.cluster.cores.pop("host-a")
    try:
        second = bus.cluster.core("host-a")
        wait_for(lambda: bus.look().standbys, "the second one standing by", 30)
        names = {machine.name for machine in bus.overview.machines()}
        assert len(names) == 2 and "host-a" in names and any(name.startswith("host-a~") for name in names)
        before = bus.look().epoch
        first.kill()
        wait_for(lambda: bus.look().state == "running" and bus.look().epoch > before, "the other one running", 40)
        clean(bus)
        assert second.running
    finally:
        first.close()


def test_08_a_short_cut_of_the_connection_changes_nothing(proxied: Bus, way: Proxy) -> None:
    before = proxied.look()
    way.refuse()
    time.sleep(0.4 * T)
    way.pass_()
    proxied.wait_delivered(50)
    assert (proxied.look().host, proxied.look().epoch) == (before.host, before.epoch)
    clean(proxied)


def test_09_an_expired_session_makes_the_other_lead_and_the_old_one_stand_last(proxied: Bus, way: Proxy) -> None:
    way.refuse()
    proxied.wait_running(other_than="host-a")
    proxied.wait_delivered(30)
    time.sleep(T)
    way.pass_()
    proxied.wait_standby("host-a")
    assert [instance.host for instance in proxied.look().instances] == ["host-b", "host-a"]
    clean(proxied)


def test_10_a_silent_server_ends_the_lease_though_the_connection_stands(proxied: Bus, way: Proxy) -> None:
    way.black_hole()
    proxied.wait_running(other_than="host-a")
    proxied.wait_delivered(30)
    way.pass_()
    proxied.wait_standby("host-a")
    clean(proxied)


def test_10_answers_that_do_not_arrive_end_the_lease_and_nobody_else_leads(proxied: Bus, way: Proxy) -> None:
    """Our pings reach the servers, so our session lives; no answer reaches us, so we can't know."""
    before = proxied.look()
    way.black_hole("down")
    time.sleep(T)
    quiet = len(proxied.seen())
    time.sleep(0.25 * T)
    assert len(proxied.seen()) == quiet, "emitted without a confirmed lease"
    way.pass_()
    proxied.wait_running()
    assert proxied.look().epoch >= before.epoch
    clean(proxied)


def test_17_the_election_parent_is_deleted(make_bus: MakeBus) -> None:
    bus = make_bus()
    before = bus.look()
    election = bus.layout.election(bus.name)
    for name in bus.coordinator.children(election):
        bus.coordinator.delete(f"{election}/{name}")
    with contextlib.suppress(Exception):  # a Core may have joined again in between
        bus.coordinator.delete(election)
    wait_for(lambda: bus.look().state == "running" and bus.look().epoch > before.epoch, "a later term", 40)
    clean(bus)
    assert sorted(bus.epochs()) == bus.epochs()


def test_18_foreign_children_are_ignored_and_reported(make_bus: MakeBus) -> None:
    bus = make_bus()
    before = bus.look()
    election = bus.layout.election(bus.name)
    junk = ("junk", "host-a-0000000000", f"x-{'f' * 32}-00000000001", f"x-{'f' * 32}--000000001", f"-{'0' * 32}-0")
    for name in junk:
        bus.coordinator.create(f"{election}/{name}")
    leader = bus.cluster.cores[before.host]
    leader.kill()
    bus.wait_running(other_than=before.host)
    text = bus.cluster.cli("task", "describe", bus.name)
    assert all(name in text for name in junk)
    clean(bus)


def test_19_a_create_whose_reply_was_lost_leaves_no_ghost(make_bus: MakeBus, zookeeper: ZooKeeper) -> None:
    """The connection of the first two is cut before the answer that has the name of their new election node: the server
    has made it, and they don't know. That of the others is cut after so many bytes of any answers."""
    bus = make_bus("host-a")
    proxies: list[Proxy] = []
    made = f"{bus.layout.election(bus.name)}/joins-".encode()
    with contextlib.ExitStack() as cores:
        for number, count in enumerate((0, 0, 60, 350, 500, 650, 950)):
            proxy = cores.enter_context(Proxy(zookeeper.port))
            if count:
                proxy.cut_after(count, "down")
            else:
                proxy.cut_before(made, "down")
            bus.cluster.core(f"joins-{number}", zookeeper=proxy.address)
            proxies.append(proxy)
        for number in range(7):
            bus.wait_standby(f"joins-{number}", timeout=60)
        assert [proxy.cuts("down") for proxy in proxies] == [1] * 7

        def one_each() -> bool:
            field = Election(bus.coordinator, bus.layout).field(bus.name)
            hosts = [contender.host for contender in field.contenders]
            return len(hosts) == len(set(hosts)) == 8

        wait_for(one_each, "one node for each", 30)
        clean(bus)
        for process in bus.cluster.cores.values():
            process.close()


def test_20_a_checkpoint_that_arrives_after_its_term_is_refused(proxied: Bus, way: Proxy) -> None:
    """Held back on its way while another one takes over, then let through."""
    way.black_hole("up")
    proxied.wait_running(other_than="host-a")
    proxied.wait_delivered(30)
    epoch = proxied.look().epoch
    way.pass_()
    time.sleep(1)
    record = Commits(proxied.coordinator, proxied.layout).read(proxied.name).record
    assert record is not None and (record.epoch, record.host) == (epoch, "host-b")
    clean(proxied)


@pytest.mark.parametrize("shift", [3600, -3600])
def test_21_a_wrong_wall_clock_changes_nothing_but_what_is_shown(make_bus: MakeBus, shift: int) -> None:
    bus = make_bus("host-a", how={"host-a": {"environment": wrong_by(shift)}})
    bus.cluster.core("host-b")
    bus.wait_standby("host-b")
    bus.wait_delivered(30)
    figures = bus.look().figures
    assert figures is not None and figures.lag_s is not None
    assert 0 <= figures.lag_s < 3700, "shown, not decided upon"
    bus.cluster.cores["host-a"].kill()
    bus.wait_running(other_than="host-a")
    bus.cluster.core("host-a", environment=wrong_by(shift))
    bus.wait_standby("host-a")
    clean(bus)


def test_98_a_host_that_was_suspended_does_not_believe_its_lease(make_bus: MakeBus, tmp_path: Path) -> None:
    """All of its processes stood still, and so did its lease clock: by it, the lease is as good as new. Nothing at this
    sink fences."""
    still = tmp_path / "still"
    still.write_text("0")
    how = {"host-a": {"environment": still_by(still)}}
    bus = make_bus("host-a", how=how, session_seconds=T, sink={"delivery": "at_least_once"})
    bus.cluster.core("host-b")
    bus.wait_standby("host-b")
    core = psutil.Process(bus.cluster.cores["host-a"].pid)
    host = [core, *core.children(recursive=True)]
    for process in host:
        process.suspend()
    began = time.monotonic()
    bus.wait_running(other_than="host-a")
    bus.wait_delivered(50)
    still.write_text(str(time.monotonic() - began))
    for process in reversed(host):
        process.resume()
    bus.wait_delivered(50)
    bus.wait_standby("host-a")
    verdict = bus.verdict()
    verdict.duplicated.clear()
    assert not verdict.stale and verdict.clean, str(verdict)


def test_15_lost_progress_is_never_replaced_by_now(make_bus: MakeBus) -> None:
    """It goes on where an operator says that it stood, and nothing was lost meanwhile."""
    bus = make_bus()
    before = bus.look()
    bus.cluster.cores[before.host].kill()  # first: it would write the node anew
    commit = bus.look().last_commit
    assert commit is not None and commit.checkpoint is not None
    bus.coordinator.delete(bus.layout.last_commit(bus.name))
    assert bus.failed(40)["code"] == "E4004"
    quiet = len(bus.seen())
    time.sleep(1)
    assert len(bus.seen()) == quiet, "emitted without a position"
    bus.cluster.cli("task", "position", "set", bus.name, "--gtid", commit.checkpoint.position.gtid, "-y")
    bus.cluster.cli("task", "retry", bus.name)
    bus.wait_running()
    bus.wait_delivered(50)
    verdict = bus.verdict()
    assert len(verdict.duplicated) < 80 * 3.5 * 3, "what the dead one delivered after it last stored where it stood"
    verdict.duplicated.clear()
    assert verdict.clean, str(verdict)


def test_15_wiped_servers_stop_the_task_and_the_sink_says_where_it_stood(
    make_bus: MakeBus, make_zookeeper: Callable[..., ZooKeeper]
) -> None:
    """The task has to be applied anew. It does not begin now, as if nothing had been: the operator sets the position
    that the refusal shows."""
    server = make_zookeeper()
    bus = make_bus(zookeeper=server)
    server.kill()
    shutil.rmtree(server.folder / "data" / "version-2")
    server.start()
    wait_for(lambda: not any(item["name"] == bus.name for item in _tasks(bus)), "the task to be gone", 90)
    bus.reconnect()
    bus.cluster.apply(bus.task)
    problem = bus.failed(60)
    assert problem["code"] == "E3109", problem
    bus.cluster.cli("task", "position", "set", bus.name, "--gtid", problem["found"].partition(", ")[2], "-y")
    bus.cluster.cli("task", "retry", bus.name)
    bus.wait_running()
    # A new installation does not know the old one's transaction: when the old worker died inside it, the
    # broker holds back what follows until it aborts it, 60 s after it began.
    bus.wait_delivered(50, timeout=100)
    verdict = bus.verdict(timeout=100)
    verdict.stale.clear()  # ZooKeeper, made anew, counts its terms from the beginning
    assert verdict.clean, str(verdict)


def _tasks(bus: Bus) -> list[dict[str, object]]:
    with contextlib.suppress(Exception):
        return bus.cluster.tasks()
    return [{"name": bus.name}]


@pytest.fixture(scope="module")
def ensemble() -> Iterator[ZooKeeperEnsemble]:
    with ZooKeeperEnsemble() as ensemble:
        yield ensemble


@pytest.fixture
def whole(ensemble: ZooKeeperEnsemble) -> Iterator[ZooKeeperEnsemble]:
    """All three serve, before and after."""
    yield ensemble
    for member in ensemble.members:
        member.resume()
        member.start()
    ensemble.leader()


def test_11_the_leader_of_the_ensemble_is_killed(make_bus: MakeBus, whole: ZooKeeperEnsemble) -> None:
    bus = make_bus(zookeeper=whole, session_seconds=6.0)
    before = bus.look()
    for _ in range(2):
        member = whole.leader()
        member.kill()
        bus.wait_delivered(20, timeout=60)
        member.start()
    assert (bus.look().host, bus.look().epoch) == (before.host, before.epoch), "the session survives"
    clean(bus)


def test_12_a_member_that_is_cut_off_is_left(make_bus: MakeBus, whole: ZooKeeperEnsemble) -> None:
    bus = make_bus(zookeeper=whole, session_seconds=6.0)
    before = bus.look()
    for member in whole.members:
        member.pause()
        time.sleep(4.0)  # more than an answer may take
        bus.wait_delivered(20, timeout=60)
        member.resume()
    after = bus.wait_running()
    assert (after.host, after.epoch) == (before.host, before.epoch), "the session survives"
    clean(bus)


def test_13_no_quorum_for_long(make_bus: MakeBus, whole: ZooKeeperEnsemble) -> None:
    bus = make_bus(zookeeper=whole)
    for member in whole.members[:2]:
        member.kill()
    time.sleep(bus.session_seconds)
    quiet = len(bus.seen())
    sizes = {host: process.log_path.stat().st_size for host, process in bus.cluster.cores.items()}
    time.sleep(4 * bus.session_seconds)
    assert len(bus.seen()) == quiet, "emitted without a confirmed lease"
    for host, process in bus.cluster.cores.items():
        assert process.running
        assert process.log_path.stat().st_size - sizes[host] < 20_000, "the log is flooded"
    for member in whole.members[:2]:
        member.start()
    bus.wait_running(timeout=60)
    clean(bus)


def test_watches_no_herd_with_many_contenders(make_bus: MakeBus, make_zookeeper: Callable[..., ZooKeeper]) -> None:
    """Counted at the server: each further contender costs as many watches as the one before. (Who is woken by a death:
    tests/integration/core/test_herd.py.)"""
    server = make_zookeeper()
    bus = make_bus("host-a", zookeeper=server)
    counts: list[int] = []
    for more in range(3):
        for number in range(2):
            bus.cluster.core(f"more-{more}-{number}")
        wait_for(lambda: len(bus.look().standbys) == len(counts) * 2 + 2, "all of them standing by", 90)
        time.sleep(2)
        found = re.search(r"zk_watch_count\s+(\d+)", server.four_letter_word("mntr"))
        assert found is not None
        counts.append(int(found[1]))
    first, second = counts[1] - counts[0], counts[2] - counts[1]
    assert 0 < second <= first + 2, counts
    clean(bus)
