"""Locks, barriers, queues and ids, each over the memory twin and over a real ZooKeeper."""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from replicator.coordination.layout import Layout, witness
from replicator.coordination.ports import Coordinator
from replicator.coordination.recipes.barriers import Barrier
from replicator.coordination.recipes.claim_nodes import Owner
from replicator.coordination.recipes.duties import Duties, Proceed
from replicator.coordination.recipes.locks import Locks
from replicator.coordination.recipes.overview import locks as overview
from replicator.coordination.recipes.queues import Item, Queue
from replicator.coordination.recipes.sequences import BLOCK, Ids, Sequences
from replicator.errors import CoordinationError, ProcessError
from tests.support.waiting import eventually

Session = Callable[[], Coordinator]
ODD = "a/b %é .. \N{SNOWMAN}"
LONG = 30.0


@pytest.fixture
def layout() -> Layout:
    return Layout(f"/recipes-{uuid.uuid4().hex}")


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as executor:
        yield executor


@pytest.fixture
def owner_of(session: Session, layout: Layout) -> Callable[[], Locks]:
    """Each call is another owner, with a session of its own."""
    return lambda: Locks(session(), layout, owner())


def owner(name: str = "ann") -> Owner:
    return Owner(by=name, host="h", pid=7)


def count(zk: Coordinator, path: str) -> int:
    stat = zk.exists(path)
    return stat.children if stat is not None else 0


def code(error: pytest.ExceptionInfo[CoordinationError]) -> str:
    return error.value.code


class TestLocks:
    def test_exclusive_and_in_the_order_of_requests(self, zk, layout, owner_of, pool):
        first, second, third = owner_of(), owner_of(), owner_of()
        held = first.acquire(ODD)
        assert held.valid()
        order: list[str] = []

        def through(locks: Locks, name: str) -> int:
            hold = locks.acquire(ODD, wait=LONG)
            order.append(name)
            locks.release(hold)
            return hold.token

        waiting = [pool.submit(through, second, "second")]
        eventually(lambda: count(zk, layout.lock(ODD)) == 4)
        waiting.append(pool.submit(through, third, "third"))
        eventually(lambda: count(zk, layout.lock(ODD)) == 6)
        [shown] = overview(zk, layout)
        assert (shown.name, [claim.state for claim in shown.claims]) == (ODD, ["held", "waiting", "waiting"])
        assert shown.claims[0].token == held.token and shown.claims[0].by == "ann"
        first.release(held)
        tokens = [each.result(LONG) for each in waiting]
        assert order == ["second", "third"]
        assert held.token < tokens[0] < tokens[1]
        assert zk.exists(layout.lock(ODD)) is None, "nothing is left of a lock that is free"
        assert first.acquire(ODD, wait=LONG).token > tokens[1], "also when its node was created again"

    def test_of_a_shared_lock_the_exclusive_one_waits_and_is_not_overtaken(self, zk, layout, owner_of, pool):
        readers, writer, late = [owner_of(), owner_of()], owner_of(), owner_of()
        holds = [each.acquire("x", "shared", LONG) for each in readers]
        waiting = pool.submit(writer.acquire, "x", "exclusive", LONG)
        eventually(lambda: count(zk, layout.lock("x")) == 6)
        with pytest.raises(CoordinationError) as refused:
            late.acquire("x", "shared", 0)
        assert code(refused) == "E4070" and "ann, process 7 on h" in str(refused.value)
        for reader, hold in zip(readers, holds, strict=True):
            assert not waiting.done()
            reader.release(hold)
        assert waiting.result(LONG).token > max(hold.token for hold in holds)

    def test_reentrant_and_not_from_shared_to_exclusive(self, zk, layout, owner_of):
        locks = owner_of()
        hold = locks.acquire("x")
        assert locks.acquire("x", "shared") is hold
        locks.release(hold)
        assert hold.valid()
        locks.release(hold)
        assert not hold.valid() and zk.exists(layout.lock("x")) is None
        shared = locks.acquire("x", "shared", 0)
        with pytest.raises(CoordinationError) as refused:
            locks.acquire("x")
        assert code(refused) == "E4072"
        locks.release(shared)

    def test_a_claim_that_was_deleted_by_hand_keeps_others_out_until_its_holder_knows(self, zk, layout, owner_of, pool):
        first, second = owner_of(), owner_of()
        hold = first.acquire("x")
        zk.delete(hold.paths[0])
        waiting = pool.submit(second.acquire, "x", "exclusive", LONG)
        eventually(lambda: count(zk, layout.lock("x")) == 3)
        with pytest.raises(CoordinationError, match="E4070"):
            owner_of().acquire("x", wait=0)
        assert not waiting.done()
        first.keep()
        assert hold.over.is_set() and not hold.valid()
        with pytest.raises(CoordinationError, match="E4071"):
            first.acquire("x")
        first.release(hold)
        assert waiting.result(LONG).token > hold.token

    def test_a_witness_that_was_deleted_ends_the_lock(self, zk, owner_of):
        locks = owner_of()
        hold = locks.acquire("x")
        zk.delete(witness(hold.base, hold.guid))
        locks.keep()
        assert not hold.valid()
        locks.release(hold)
        assert locks.acquire("x", wait=LONG).valid()

    def test_what_no_version_wrote_neither_has_the_lock_nor_keeps_it(self, zk, layout, owner_of):
        base = layout.lock("x")
        guid = "a" * 32
        for name in ("notes", f"exclusive-{guid}-0000000000", f"shared-{guid}-1", f"witness-{guid}", "witness-"):
            zk.create(f"{base}/{name}", b"?", parents=True)
        hold = owner_of().acquire("x", wait=LONG)
        assert hold.valid() and [view.name for view in overview(zk, layout)] == ["x"]

    def test_the_parent_may_be_deleted_and_created_again(self, zk, layout, owner_of):
        locks = owner_of()
        hold = locks.acquire("x")
        for name in zk.children(layout.lock("x")):
            zk.delete(f"{layout.lock('x')}/{name}")
        zk.delete(layout.lock("x"))
        zk.delete(layout.locks)
        locks.keep()
        assert not hold.valid()
        locks.release(hold)
        assert locks.acquire("x", wait=LONG).token > hold.token

    def test_the_end_of_a_session_frees_its_locks(self, session, layout, owner_of):
        coordinator = session()
        Locks(coordinator, layout, owner()).acquire("x")
        coordinator.close()
        assert owner_of().acquire("x", wait=LONG).valid()

    def test_two_installations_have_different_locks(self, session, owner_of):
        owner_of().acquire("x")
        other = Layout(f"/recipes-{uuid.uuid4().hex}")
        assert Locks(session(), other, owner()).acquire("x", wait=LONG).valid()

    def test_a_wait_that_is_cancelled_leaves_nothing(self, zk, layout, owner_of):
        hold = owner_of().acquire("x")
        with pytest.raises(CoordinationError, match="E4070"):
            owner_of().acquire("x", cancelled=lambda: True)
        assert count(zk, layout.lock("x")) == len(hold.paths)

    @pytest.mark.parametrize("name", ["", " ", "a\nb", "x" * 201, "\udcff"])
    def test_names_that_are_refused(self, owner_of, name):
        with pytest.raises(ProcessError, match="E5140"):
            owner_of().acquire(name)


class TestBarriers:
    @staticmethod
    def party(session: Session, layout: Layout, parties: int = 3) -> Barrier:
        return Barrier(session(), layout, ODD, parties, owner())

    def test_all_pass_together_and_a_party_that_is_gone_does_not_count(self, zk, session, layout, pool):
        gone = session()
        entering = pool.submit(Barrier(gone, layout, ODD, 3, owner()).enter, 0.5)
        with pytest.raises(CoordinationError, match=r"E4074.*1 of 3"):
            entering.result(LONG)
        gone.close()
        first = [pool.submit(self.party(session, layout).enter, LONG) for _ in range(2)]
        eventually(lambda: count(zk, layout.barrier(ODD)) == 2)
        assert not any(each.done() for each in first)
        with pytest.raises(CoordinationError, match=r"E4073.*3 of ann"):
            self.party(session, layout, 2).enter(0)
        self.party(session, layout).enter(LONG)
        for each in first:
            each.result(LONG)

    def test_one_round_after_the_other(self, zk, session, layout, pool):
        def run() -> None:
            barrier = self.party(session, layout, 2)
            barrier.enter(LONG)
            barrier.withdraw()

        for each in [pool.submit(run) for _ in range(6)]:
            each.result(LONG)
        assert zk.exists(layout.barrier(ODD)) is None

    def test_a_double_barrier_waits_until_all_have_left_or_are_gone(self, session, layout, pool):
        sessions = [session() for _ in range(3)]
        barriers = [Barrier(each, layout, "x", 3, owner()) for each in sessions]
        entering = [pool.submit(each.enter, LONG) for each in barriers]
        for entered in entering:
            entered.result(LONG)
        leaving = [pool.submit(each.leave, LONG) for each in barriers[:2]]
        with pytest.raises(TimeoutError):
            leaving[0].result(0.3)
        sessions[2].close()
        for left in leaving:
            left.result(LONG)


class TestQueues:
    @pytest.fixture
    def queue(self, session: Session, layout: Layout) -> Queue:
        return Queue(session(), layout, ODD, owner())

    def test_first_in_first_out_and_nothing_is_left(self, zk, layout, queue):
        for number in range(5):
            queue.put(f"item {number}")
        for number in range(5):
            item = queue.take(LONG)
            assert (item.record.value, item.attempt) == (f"item {number}", 1)
            queue.complete(item)
        assert zk.exists(layout.queue(ODD)) is None
        with pytest.raises(CoordinationError, match="E4076"):
            queue.take(0)

    def test_an_item_of_a_consumer_that_ends_is_the_next_one_again(self, session, layout, queue):
        queue.put("a")
        queue.put("b")
        gone = session()
        lost = Queue(gone, layout, ODD, owner()).take(LONG)
        assert queue.take(LONG).record.value == "b"
        gone.close()
        again = queue.take(LONG)
        assert (again.record.value, again.attempt) == ("a", 2)
        assert again.hold.token > lost.hold.token

    def test_a_former_consumer_completes_nothing(self, zk, session, layout, queue):
        queue.put("a")
        former = queue.take(LONG)
        zk.delete(former.hold.paths[0])
        queue.keep()
        assert not former.hold.valid()
        other = Queue(session(), layout, ODD, owner())
        item = other.take(LONG)
        with pytest.raises(CoordinationError, match="E4071"):
            queue.complete(former)
        queue.give_back(former)
        other.keep()
        assert item.hold.valid()
        other.complete(item)

    def test_given_back(self, session, layout, queue):
        queue.put("a")
        queue.give_back(queue.take(LONG))
        assert Queue(session(), layout, ODD, owner()).take(LONG).record.value == "a"

    def test_of_several_that_wait_each_gets_one(self, zk, session, layout, queue, pool):
        waiting: list[Future[Item]] = [pool.submit(Queue(session(), layout, ODD, owner()).take, LONG) for _ in range(3)]
        eventually(lambda: count(zk, layout.queue_line(ODD)) == 6)
        for value in "abc":
            queue.put(value)
        assert sorted(each.result(LONG).record.value for each in waiting) == ["a", "b", "c"]

    def test_full(self, layout, queue, monkeypatch):
        monkeypatch.setattr("replicator.coordination.recipes.queues.MAX_ITEMS", 3)
        for value in "abc":
            queue.put(value)
        with pytest.raises(CoordinationError, match=r"E4075.*3 items"):
            queue.put("d")
        queue.complete(queue.take(LONG))
        queue.put("d")

    def test_what_is_not_an_item(self, zk, layout, queue):
        base = layout.queue(ODD)
        zk.create(f"{base}/item-0000000000", b"?", parents=True)
        zk.create(f"{base}/item-x", b"?")
        zk.create(f"{base}/notes", b"?")
        queue.put("a")
        assert queue.take(LONG).record.value == "a"
        with pytest.raises(ProcessError, match="E5141"):
            queue.put("x" * 65_537)
        with pytest.raises(ProcessError, match="E5141"):
            queue.put("\udcff")


class TestIds:
    def test_a_thousand_ids_are_one_write(self, zk, layout):
        sequences = Sequences(zk, layout)
        assert sequences.take(ODD) == range(1, 2)
        assert sequences.take(ODD, BLOCK) == range(2, 2 + BLOCK)
        assert zk.get(layout.sequence(ODD)).stat.version == 2
        for count in (0, BLOCK + 1):
            with pytest.raises(ValueError, match="1 to"):
                sequences.take(ODD, count)

    def test_none_twice_and_rising_over_processes(self, session, layout, pool):
        def take(coordinator: Coordinator) -> list[int]:
            ids = Ids(Sequences(coordinator, layout), "x", 7)
            return [ids.next() for _ in range(100)]

        found = [each.result(LONG) for each in [pool.submit(take, session()) for _ in range(4)]]
        assert all(ids == sorted(ids) for ids in found)
        assert len({number for ids in found for number in ids}) == 400

    def test_a_counter_that_was_deleted_begins_above_all_before(self, zk, layout):
        sequences = Sequences(zk, layout)
        before = [sequences.take("x", BLOCK)[-1], sequences.take("y")[-1]]
        for path in (layout.sequence("x"), layout.sequence("y"), layout.sequences):
            zk.delete(path)
        for name in ("x", "y", "x"):
            taken = sequences.take(name)
            assert taken[0] > max(before)
            if name == "x":
                zk.delete(layout.sequence("x"))
            before.append(taken[-1])

    def test_another_session_goes_on(self, session, layout):
        first = session()
        last = Sequences(first, layout).take("x", 10)[-1]
        first.close()
        assert Sequences(session(), layout).take("x")[0] == last + 1


def test_a_duty_is_done_once_also_when_a_process_ends_in_the_middle(session: Session, layout: Layout) -> None:
    calls: list[str] = []
    first, second = session(), session()
    other = Duties(second, layout, owner(), {"tidy": lambda _: calls.append("other")}, lambda: "2026-11-25")

    def die(proceed: Proceed) -> None:
        assert proceed() and other.run() == []
        calls.append("first")
        first.close()

    with contextlib.suppress(CoordinationError):  # the session may be known to have ended
        assert Duties(first, layout, owner(), {"tidy": die}, lambda: "2026-11-25").run() == []
    eventually(lambda: other.run() == ["tidy"])
    assert other.run() == [] and calls == ["first", "other"]
    third = Duties(session(), layout, owner(), {"tidy": lambda _: calls.append("third")}, lambda: "2026-11-25")
    assert third.run() == [] and calls == ["first", "other"]


def test_owners_that_contend_are_never_two_at_once(session: Session, layout: Layout, pool: ThreadPoolExecutor) -> None:
    inside: list[int] = []
    most: list[int] = []
    guard = threading.Lock()

    def work() -> list[int]:
        locks, tokens = Locks(session(), layout, owner()), []
        for _ in range(5):
            hold = locks.acquire("x", wait=LONG)
            with guard:
                inside.append(1)
                most.append(len(inside))
                tokens.append(hold.token)
            with guard:
                inside.pop()
            locks.release(hold)
        return tokens

    tokens = [token for each in [pool.submit(work) for _ in range(4)] for token in each.result(LONG)]
    assert max(most) == 1 and len(set(tokens)) == 20
