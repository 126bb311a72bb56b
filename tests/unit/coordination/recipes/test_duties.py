"""Duties of the day: once, by one process, also when it ends in the middle."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from replicator.coordination.in_memory.coordinator import MemoryCoordinator, MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.coordination.recipes.barriers import Barrier
from replicator.coordination.recipes.claim_nodes import Owner
from replicator.coordination.recipes.duties import KEPT_DATES, Duties, Proceed, remove_unused
from replicator.coordination.recipes.locks import Locks
from replicator.coordination.recipes.queues import Queue
from replicator.errors import CoordinationError, NotConnected

LAYOUT = Layout("/r")
OWNER = Owner(by="server", host="h", pid=1)


class Day:
    def __init__(self) -> None:
        self.number = 1

    def __call__(self) -> str:
        return f"2026-11-{self.number:02d}"


def duties(zk: MemoryCoordinator, day: Day, work: Callable[[Proceed], None]) -> Duties:
    return Duties(zk, LAYOUT, OWNER, {"tidy": work}, day)


def test_once_a_day_by_one_of_all_and_notes_are_trimmed() -> None:
    ensemble, day, calls = MemoryEnsemble(), Day(), []
    servers = [duties(ensemble.session(), day, lambda proceed: calls.append(proceed())) for _ in range(3)]
    for number in range(1, 15):
        day.number = number
        for server in [*servers, *servers]:
            server.run()
    assert calls == [True] * 14
    assert len(ensemble.session().children(LAYOUT.duties)) == KEPT_DATES


def test_while_one_does_it_no_other_does_and_after_its_end_another_does() -> None:
    ensemble, day, calls = MemoryEnsemble(), Day(), []
    first, other = ensemble.session(), duties(ensemble.session(), day, lambda _: calls.append("other"))

    def die(_: Proceed) -> None:
        calls.append("first")
        assert other.run() == []
        first.close()

    assert duties(first, day, die).run() == []
    assert other.run() == ["tidy"]
    assert other.run() == [] and calls == ["first", "other"]


def test_one_whose_session_was_lost_notes_nothing() -> None:
    ensemble, day = MemoryEnsemble(), Day()
    calls: list[int] = []
    zk = ensemble.session()

    def lose(proceed: Proceed) -> None:
        if not calls:
            zk.expire()
        calls.append(1)

    server = duties(zk, day, lose)
    assert server.run() == []
    assert server.run() == ["tidy"] and len(calls) == 2


def test_a_duty_that_fails_is_done_again() -> None:
    ensemble, day, calls = MemoryEnsemble(), Day(), []

    def fail(_: Proceed) -> None:
        calls.append(1)
        if len(calls) == 1:
            raise NotConnected("E4002", "away")

    server = duties(ensemble.session(), day, fail)
    with pytest.raises(NotConnected):
        server.run()
    assert server.run() == ["tidy"]


def test_nodes_that_no_process_uses_are_removed() -> None:
    ensemble = MemoryEnsemble()
    zk, gone = ensemble.session(), ensemble.session()
    held = Locks(zk, LAYOUT, OWNER).acquire("held")
    Locks(gone, LAYOUT, OWNER).acquire("left")
    Queue(zk, LAYOUT, "full", OWNER).put("x")
    queue = Queue(gone, LAYOUT, "empty / %", OWNER)
    queue.put("x")
    queue.complete(queue.take(0))
    with pytest.raises(CoordinationError, match="E4074"):
        Barrier(gone, LAYOUT, "b", 2, OWNER).enter(0)
    zk.create(f"{LAYOUT.queue('empty / %')}/line", parents=True)
    zk.create(LAYOUT.barrier("b"), parents=True)
    gone.close()
    remove_unused(zk, LAYOUT, lambda: False)
    assert zk.children(LAYOUT.locks) == ["held", "left"]
    remove_unused(zk, LAYOUT, held.valid)
    assert zk.children(LAYOUT.locks) == ["held"]
    assert (zk.children(LAYOUT.queues), zk.children(LAYOUT.barriers)) == (["full"], [])
