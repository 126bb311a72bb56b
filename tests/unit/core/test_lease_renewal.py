"""The lease thread, round by round, over the memory ensemble."""

from __future__ import annotations

import math

import pytest

from core.lease_renewal import LeaseRenewal
from replicator.coordination.in_memory.coordinator import MemoryEnsemble
from replicator.errors import LeadershipLost, NotConnected
from tests.support.cores import FakeClock

T = 6.0


class Holder:
    def __init__(self) -> None:
        self.deadline = self.wall_deadline = -1.0

    def extend(self, deadline: float, wall_deadline: float = math.inf) -> None:
        self.deadline, self.wall_deadline = deadline, wall_deadline


class CoreContext:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.ensemble = MemoryEnsemble(self.clock)
        self.zk = self.ensemble.session(T)
        self.over: list[str] = []
        self.wall = FakeClock()
        self.keeper = LeaseRenewal(self.zk, self.over.append, self.clock, self.wall)
        self.zk.on_connection(self.keeper._on_connection)
        self.holder = Holder()

    def begin(self, task: str = "t") -> str:
        path = self.zk.create(f"/{task}", ephemeral=True)
        self.keeper.begin(task, path, self.zk.get(path).stat.czxid)
        self.keeper.attach(task, self.holder)
        return path


@pytest.fixture
def bench() -> CoreContext:
    return CoreContext()


def test_begins_with_a_confirmation(bench):
    bench.begin()
    assert bench.holder.deadline == bench.clock.now + 4


def test_without_the_node_there_is_no_lease(bench):
    with pytest.raises(LeadershipLost):
        bench.keeper.begin("t", "/none", 1)
    path = bench.zk.create("/t", ephemeral=True)
    with pytest.raises(LeadershipLost):
        bench.keeper.begin("t", path, 999)
    bench.zk.silence()
    with pytest.raises(NotConnected):
        bench.keeper.begin("t", path, 1)


def test_each_round_extends(bench):
    bench.begin()
    bench.clock.now += 1
    bench.keeper._round()
    assert bench.holder.deadline == bench.clock.now + 4
    assert bench.keeper.left("t") == 4


def test_the_wall_clock_is_a_second_witness(bench):
    bench.wall.now = 5_000.0
    bench.begin()
    end = bench.holder.wall_deadline
    assert 5_000 + 4 <= end <= 5_000 + T - 1, "before anybody else may lead"
    bench.wall.now += 2
    bench.keeper._round()
    assert bench.holder.wall_deadline == end + 2


def test_a_clock_that_stood_still_asks_at_once(bench):
    """The host was suspended; the lease clock does not know, the wall clock does."""
    bench.begin()
    assert not bench.keeper._jumped()
    bench.clock.now += 0.25
    bench.wall.now += 0.25
    assert not bench.keeper._jumped()
    bench.wall.now += 3600
    assert bench.keeper._jumped()
    assert not bench.keeper._jumped(), "once"
    bench.wall.now -= 3600
    assert not bench.keeper._jumped(), "a clock that is set back takes nothing away and gives nothing"


def test_how_close_a_renewal_was_is_remembered_for_the_term(bench):
    bench.begin()
    assert bench.keeper.least("t") == 4.0, "nothing was renewed yet"
    for late in (1, 3, 2):
        bench.clock.now += late
        bench.keeper._round()
    assert bench.keeper.least("t") == 1.0
    bench.keeper.drop("t")
    assert bench.keeper.least("t") == 0.0


def test_no_answer_extends_nothing(bench):
    bench.begin()
    before = bench.holder.deadline
    bench.zk.silence()
    bench.clock.now += 1
    bench.keeper._round()
    assert bench.holder.deadline == before
    assert not bench.over


def test_a_node_that_is_gone_ends_it_and_tells(bench):
    path = bench.begin()
    bench.zk.delete(path)
    bench.keeper._round()
    assert bench.holder.deadline == 0.0
    assert bench.over == ["t"]
    bench.keeper._round()
    assert bench.over == ["t"]


def test_a_node_made_again_is_another_term(bench):
    path = bench.begin()
    bench.zk.delete(path)
    bench.zk.create(path, ephemeral=True)
    bench.keeper._round()
    assert bench.holder.deadline == 0.0


def test_one_bad_term_leaves_the_others(bench):
    gone = bench.begin("a")
    other = Holder()
    path = bench.zk.create("/b", ephemeral=True)
    bench.keeper.begin("b", path, bench.zk.get(path).stat.czxid)
    bench.keeper.attach("b", other)
    bench.zk.delete(gone)
    bench.clock.now += 1
    bench.keeper._round()
    assert other.deadline == bench.clock.now + 4
    assert bench.over == ["a"]


def test_a_lost_session_ends_all_in_the_listener(bench):
    bench.begin()
    bench.zk.expire()
    assert bench.holder.deadline == 0.0
    bench.keeper._round()
    assert bench.holder.deadline == 0.0


def test_a_dropped_lease_is_never_extended_again(bench):
    bench.begin()
    bench.keeper.drop("t")
    assert bench.holder.deadline == 0.0
    bench.clock.now += 1
    bench.keeper._round()
    assert bench.holder.deadline == 0.0
    assert bench.keeper.left("t") == 0.0


def test_a_worker_that_comes_after_the_end_gets_nothing(bench):
    late = Holder()
    bench.keeper.attach("t", late)
    assert late.deadline == 0.0
    bench.begin()
    bench.zk.expire()
    bench.keeper.attach("t", late)
    assert late.deadline == 0.0
