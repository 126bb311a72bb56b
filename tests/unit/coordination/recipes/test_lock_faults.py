"""Locks, queues and ids while connections break, sessions end and answers are lost."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from replicator.coordination.in_memory.coordinator import MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.coordination.leadership.grace import LEASE
from replicator.coordination.recipes.barriers import Barrier
from replicator.coordination.recipes.claim_nodes import Owner
from replicator.coordination.recipes.keeper import Keeper
from replicator.coordination.recipes.locks import Locks
from replicator.coordination.recipes.queues import Queue
from replicator.coordination.recipes.sequences import Sequences
from replicator.errors import CoordinationError, NotConnected
from tests.support.waiting import eventually

T = 10.0
LAYOUT = Layout("/r")
OWNER = Owner(by="ann", host="h", pid=7)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ensemble(clock: Clock) -> MemoryEnsemble:
    return MemoryEnsemble(clock)


def children(ensemble: MemoryEnsemble, path: str) -> list[str]:
    stat = ensemble.session().exists(path)
    return ensemble.session().children(path) if stat is not None else []


class TestLease:
    def test_a_frozen_holder_stops_before_another_gets_the_lock(self, ensemble, clock):
        """The claim of the issue: session lost = lock lost, noticed by the own clock before."""
        zk, other = ensemble.session(T), ensemble.session(T)
        locks, rival = Locks(zk, LAYOUT, OWNER, clock=clock, wall=clock), Locks(other, LAYOUT, OWNER, clock=clock)
        hold = locks.acquire("x")
        zk.silence()
        while hold.valid(clock, clock):
            clock.now += 0.5
            locks.keep()
            ensemble.expire_overdue()
            with pytest.raises(CoordinationError, match="E4070"):
                rival.acquire("x", wait=0)
        assert clock.now - 1000 <= LEASE * T + 0.5
        clock.now = 1000 + T
        assert rival.acquire("x", wait=0).token > hold.token
        zk.hear()
        locks.keep()
        assert hold.over.is_set()
        with pytest.raises(CoordinationError, match="E4071"):
            locks.acquire("x")
        locks.release(hold)
        with pytest.raises(CoordinationError, match="E4070"):
            locks.acquire("x", wait=0)

    def test_confirmations_extend_it(self, ensemble, clock):
        locks = Locks(ensemble.session(T), LAYOUT, OWNER, clock=clock, wall=clock)
        hold = locks.acquire("x")
        for _ in range(20):
            clock.now += T / 2
            assert hold.valid(clock, clock)
            locks.keep()

    def test_a_wall_clock_that_is_ahead_ends_it_until_it_is_confirmed(self, ensemble, clock):
        wall = Clock()
        locks = Locks(ensemble.session(T), LAYOUT, OWNER, clock=clock, wall=wall)
        hold = locks.acquire("x")
        wall.now += 3600
        assert not hold.valid(clock, wall)
        locks.keep()
        assert hold.valid(clock, wall)

    def test_the_keeper_keeps(self, ensemble):
        calls = threading.Semaphore(0)

        def keep() -> None:
            calls.release()
            raise NotConnected("E4002", "away")

        with Keeper(keep, 0.06):
            assert all(calls.acquire(timeout=30) for _ in range(3))


class TestLostAnswers:
    def test_a_claim_whose_answer_was_lost_is_found_again(self, ensemble):
        zk = ensemble.session(T)
        zk.create(LAYOUT.locks, parents=True)
        zk.lose_reply()
        locks = Locks(zk, LAYOUT, OWNER)
        hold = locks.acquire("x", wait=5)
        assert len(children(ensemble, LAYOUT.lock("x"))) == 2
        zk.lose_reply()
        locks.release(hold)
        assert children(ensemble, LAYOUT.lock("x")) == []
        assert locks.acquire("x", wait=5).valid()

    def test_a_claim_that_arrives_late_is_one_claim(self, ensemble):
        zk = ensemble.session(T)
        zk.create(LAYOUT.locks, parents=True)
        zk.hold_write()
        with ThreadPoolExecutor() as pool:
            waiting = pool.submit(Locks(zk, LAYOUT, OWNER).acquire, "x", "exclusive", 10)
            eventually(lambda: zk._held)
            zk.resume()
            assert waiting.result(30).valid()
        assert len(children(ensemble, LAYOUT.lock("x"))) == 2

    def test_a_claim_that_arrives_after_its_owner_gave_up_is_removed(self, ensemble, clock):
        """kazoo leaves an orphan here (facts): the lock would never be free again."""
        zk = ensemble.session(T)
        zk.create(LAYOUT.locks, parents=True)
        locks = Locks(zk, LAYOUT, OWNER, clock=clock)
        zk.hold_write()
        with pytest.raises(NotConnected):
            locks.acquire("x", wait=0)
        zk.resume()
        assert len(children(ensemble, LAYOUT.lock("x"))) == 2, "it has arrived"
        locks.keep()
        assert children(ensemble, LAYOUT.lock("x")) == []
        clock.now += T + 1
        locks.keep()
        assert not locks._nodes._abandoned

    def test_a_session_that_ends_while_it_waits_joins_again_at_the_end(self, ensemble):
        holder, zk = ensemble.session(T), ensemble.session(T)
        first, second = Locks(holder, LAYOUT, OWNER), Locks(zk, LAYOUT, OWNER)
        hold = first.acquire("x")
        with ThreadPoolExecutor() as pool:
            waiting = pool.submit(second.acquire, "x", "exclusive", 30)
            eventually(lambda: len(children(ensemble, LAYOUT.lock("x"))) == 4)
            zk.expire()
            eventually(lambda: len(children(ensemble, LAYOUT.lock("x"))) == 4)
            first.release(hold)
            assert waiting.result(30).lease.session == zk.session_id
        assert len(children(ensemble, LAYOUT.lock("x"))) == 2

    def test_half_of_a_waiting_claim_was_deleted(self, ensemble):
        holder, zk = ensemble.session(T), ensemble.session(T)
        first = Locks(holder, LAYOUT, OWNER)
        hold, base = first.acquire("x"), LAYOUT.lock("x")
        with ThreadPoolExecutor() as pool:
            waiting = pool.submit(Locks(zk, LAYOUT, OWNER).acquire, "x", "exclusive", 30)
            eventually(lambda: len(children(ensemble, base)) == 4)
            [claim] = [n for n in children(ensemble, base) if n.startswith("exclusive") and hold.guid not in n]
            ensemble.session().delete(f"{base}/{claim}")
            first.release(hold)
            assert waiting.result(30).valid()


class TestQueues:
    def test_an_item_whose_answer_was_lost_is_taken_again(self, ensemble):
        zk = ensemble.session(T)
        queue = Queue(zk, LAYOUT, "q", OWNER)
        queue.put("a")
        zk.lose_reply()
        item = queue.take(10)
        assert (item.record.value, item.attempt) == ("a", 2)
        queue.complete(item)

    def test_a_session_that_ends_early_ends_item_and_lock_at_once(self, ensemble):
        zk = ensemble.session(T)
        queue, locks = Queue(zk, LAYOUT, "q", OWNER), Locks(zk, LAYOUT, OWNER)
        queue.put("a")
        item, hold = queue.take(0), locks.acquire("x", wait=0)
        zk.expire()
        assert not item.hold.valid() and not hold.valid()

    def test_a_consumer_that_is_frozen_loses_its_item_before_another_has_it(self, ensemble, clock):
        zk = ensemble.session(T)
        queue = Queue(zk, LAYOUT, "q", OWNER, clock=clock, wall=clock)
        queue.put("a")
        item = queue.take(0)
        zk.silence()
        clock.now += LEASE * T + 0.01
        assert not item.hold.valid(clock, clock)
        other = Queue(ensemble.session(T), LAYOUT, "q", OWNER)
        with pytest.raises(CoordinationError, match="E4076"):
            other.take(0)
        clock.now += T
        ensemble.expire_overdue()
        assert other.take(0).record.value == "a"


class TestBarriers:
    def test_a_session_that_ends_is_one_party_all_the_same(self, ensemble):
        zk = ensemble.session(T)
        with ThreadPoolExecutor() as pool:
            entering = pool.submit(Barrier(zk, LAYOUT, "b", 2, OWNER).enter, 30)
            eventually(lambda: len(children(ensemble, LAYOUT.barrier("b"))) == 1)
            zk.expire()
            eventually(lambda: len(children(ensemble, LAYOUT.barrier("b"))) == 1)
            assert not entering.done()
            Barrier(ensemble.session(T), LAYOUT, "b", 2, OWNER).enter(30)
            entering.result(30)

    def test_an_arrival_whose_answer_was_lost(self, ensemble):
        zk = ensemble.session(T)
        zk.create(LAYOUT.barrier("b"), parents=True)
        zk.lose_reply()
        with pytest.raises(CoordinationError, match=r"E4074.*1 of 2"):
            Barrier(zk, LAYOUT, "b", 2, OWNER).enter(0.5)
        assert children(ensemble, LAYOUT.barrier("b")) == []


class TestIds:
    def test_an_answer_that_was_lost_leaves_a_gap_and_no_id_twice(self, ensemble):
        zk = ensemble.session(T)
        sequences = Sequences(zk, LAYOUT)
        first = sequences.take("x", 10)
        zk.lose_reply()
        with pytest.raises(NotConnected):
            sequences.take("x", 10)
        assert sequences.take("x")[0] == first.stop + 10

    def test_a_request_that_arrives_late_takes_no_ids_of_others(self, ensemble):
        zk, other = ensemble.session(T), ensemble.session(T)
        sequences = Sequences(zk, LAYOUT)
        last = sequences.take("x", 10)[-1]
        zk.hold_write()
        with pytest.raises(NotConnected):
            sequences.take("x", 10)
        taken = Sequences(other, LAYOUT).take("x", 10)
        zk.resume()
        assert taken[0] == last + 1
        assert Sequences(other, LAYOUT).take("x")[0] == taken.stop
