"""Whose turn it is: a loop in a thread of its own, as the library's sender has, and somebody who delivers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.net.selector import NetworkSelector

from replicator.sink.kafka.sockets import QuietSelector
from replicator.sink.kafka.turns import Turns


class Manager:
    """Of the transactions: what `Turns` asks."""

    def __init__(self) -> None:
        self._pending_requests: list[Any] = []
        self.transactional = False
        self.known = True
        self.leader: int | None = 1

    def is_transactional(self) -> bool:
        return self.transactional

    def has_producer_id(self) -> bool:
        return self.known

    def coordinator(self, kind: Any) -> int | None:
        assert kind.name == "TRANSACTION"
        return self.leader


class Client:
    def __init__(self, net: Any) -> None:
        self._net = net
        self._manager = SimpleNamespace(_conns={1: None, 2: None})
        self.away: set[int | None] = {None}

    def is_ready(self, node: int | None) -> bool:
        return node not in self.away


class Sender(threading.Thread):
    """As the library's: runs steps, and waits in its client's loop."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.net = NetworkSelector(selector=QuietSelector)
        self._client = Client(self.net)
        self._transaction_manager = Manager()
        self.turns: Turns | None = None
        self.nap_ms = 100.0
        self.fails: Exception | None = None
        self.steps: list[int] = []
        self.inside = 0
        self.overlaps = 0
        self.over = False

    def run(self) -> None:
        while not self.over:
            self.run_once()

    def run_once(self) -> None:
        self.inside += 1
        self.overlaps += self.inside > 1
        if threading.get_ident() != self.ident and self.fails is not None:
            self.inside -= 1
            raise self.fails
        self.steps.append(threading.get_ident())
        self.inside -= 1
        if not (self.turns and self.turns.ours):
            self.net.poll(timeout_ms=self.nap_ms)

    def wakeup(self) -> None:
        self.net.wakeup()

    def count(self, *, here: bool) -> int:
        return sum((each == threading.get_ident()) is here for each in self.steps)


@pytest.fixture
def sender() -> Iterator[Sender]:
    made = Sender()
    made.start()
    made.turns = Turns(made)
    made.wakeup()
    _until(lambda: _waits(made))
    yield made
    made.over = True
    made.wakeup()
    made.join(10)
    made.net.close()


def _waits(sender: Sender) -> bool:
    """The loop does, and has left us its turn."""
    return sender.turns is not None and not sender.turns._lock.locked()


def _until(found: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not found():
        assert time.monotonic() < end, "in vain"
        time.sleep(0.001)


def _take(sender: Sender) -> bool:
    """Whether the step was taken here: asked anew while the loop is just around."""
    assert sender.turns is not None
    before = sender.count(here=True)
    for _ in range(20):
        _until(lambda: _waits(sender))
        sender.turns.take()
        if sender.count(here=True) > before:
            return True
    return False


def test_while_the_loop_waits_a_step_is_taken_here(sender: Sender) -> None:
    assert _take(sender)


def test_a_loop_that_sleeps_long_is_woken_for_the_sake_of_its_timers(sender: Sender) -> None:
    sender.nap_ms = 60_000
    sender.wakeup()
    _until(lambda: sender.turns is not None and sender.turns._until > time.monotonic() + 10)
    there = sender.count(here=False)
    assert _take(sender)
    _until(lambda: sender.count(here=False) > there)


def test_a_loop_that_naps_is_left_alone(sender: Sender) -> None:
    woken = []
    sender.wakeup = lambda: woken.append(1)  # type: ignore[method-assign]
    assert _take(sender)
    tried = len(woken)
    assert _take(sender)
    assert len(woken) - tried < 20, "only where the loop was just around"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda sender: sender._client.away.add(2),
        lambda sender: sender._client._manager._conns.clear(),
        lambda sender: setattr(sender._transaction_manager, "known", False),
        lambda sender: sender._transaction_manager._pending_requests.append((0, 1, None)),
    ],
    ids=["a broker is not ready", "no connection", "no producer id", "an id is to be asked for"],
)
def test_where_a_step_would_wait_the_loop_is_woken(sender: Sender, spoil: Callable[[Sender], None]) -> None:
    sender.nap_ms = 60_000
    sender.wakeup()
    spoil(sender)
    there = sender.count(here=False)
    assert not _take(sender)
    _until(lambda: sender.count(here=False) > there)


@pytest.mark.parametrize(
    ("leader", "needs", "taken"),
    [(1, [True, True], True), (1, [True, False], False), (None, [], False), (3, [], False)],
    ids=["ready", "any broker is asked", "no coordinator", "the coordinator is not ready"],
)
def test_requests_of_a_transaction_need_its_coordinator(
    sender: Sender, leader: int | None, needs: list[bool], taken: bool
) -> None:
    manager = sender._transaction_manager
    manager.transactional, manager.leader = True, leader
    sender._client.away.add(3)
    handlers = [SimpleNamespace(needs_coordinator=lambda need=need: need) for need in needs]
    manager._pending_requests = [(0, number, handler) for number, handler in enumerate(handlers)]
    assert _take(sender) is taken


def test_a_step_that_fails_is_the_loops(sender: Sender) -> None:
    sender.fails = OSError("no route")
    there = sender.count(here=False)
    assert not _take(sender)
    _until(lambda: sender.count(here=False) > there)
    sender.fails = None
    assert _take(sender), "the turn was given back"


def test_what_a_step_leaves_to_the_loop_wakes_it(sender: Sender) -> None:
    done = threading.Event()
    run_once = sender.run_once

    def leaves_some() -> None:
        run_once()
        if threading.get_ident() != sender.ident:
            sender.net.call_soon(done.set)

    sender.nap_ms = 60_000
    sender.wakeup()
    sender.run_once = leaves_some  # type: ignore[method-assign]
    assert _take(sender)
    assert done.wait(10)


def test_steps_never_overlap(sender: Sender) -> None:
    sender.nap_ms = 1
    end = time.monotonic() + 0.5
    assert sender.turns is not None
    while time.monotonic() < end:
        sender.turns.take()
    assert sender.count(here=True) > 10
    assert sender.count(here=False) > 10
    assert sender.overlaps == 0


def test_with_another_selector_every_step_is_the_loops() -> None:
    sender = Sender()
    sender.net.close()
    sender.net = sender._client._net = NetworkSelector()
    sender.start()
    turns = Turns(sender)
    for _ in range(20):
        turns.take()
        time.sleep(0.001)
    assert sender.count(here=True) == 0
    assert sender.count(here=False) > 1
    sender.over = True
    sender.wakeup()
    sender.join(10)
    sender.net.close()
