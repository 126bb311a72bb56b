from __future__ import annotations

import threading
import time

import pytest

from replicator.model.batch import Batch
from replicator.model.position import Position
from replicator.pipeline.buffer import Buffer, joined


def batch(size: int) -> Batch:
    return Batch([], Position("b.1", 0), True, size=size)


def test_batches_come_out_in_order_and_then_the_end() -> None:
    buffer = Buffer(1000)
    first, second = batch(1), batch(2)
    assert buffer.put(first)
    assert buffer.put(second)
    buffer.end()
    assert not buffer.finished()
    assert [buffer.get(1), buffer.get(1)] == [first, second]
    assert buffer.get(0.01) is None
    assert buffer.finished()


def test_joined_batches_have_the_first_change_of_both() -> None:
    position = Position("b.1", 0)
    first, second, none = (Batch([], position, True, first_ms=ms) for ms in (5, 9, 0))
    assert [joined(first, second).first_ms, joined(none, second).first_ms, joined(none, none).first_ms] == [5, 9, 0]


def test_an_error_comes_after_what_was_read_before_it() -> None:
    buffer = Buffer(1000)
    buffer.put(batch(1))
    buffer.end(ValueError("lost"))
    assert not buffer.finished()
    assert buffer.get(1) is not None
    with pytest.raises(ValueError, match="lost"):
        buffer.finished()


def test_one_batch_always_fits_and_the_next_waits() -> None:
    buffer = Buffer(10)
    assert buffer.put(batch(100))
    put = threading.Event()

    def more() -> None:
        buffer.put(batch(1))
        put.set()

    thread = threading.Thread(target=more)
    thread.start()
    assert not put.wait(0.1)
    assert buffer.size == 100
    assert buffer.get(1) is not None
    assert put.wait(5)
    thread.join()


def test_abandoning_frees_a_waiting_producer() -> None:
    buffer = Buffer(10)
    buffer.put(batch(100))
    answers: list[bool] = []
    thread = threading.Thread(target=lambda: answers.append(buffer.put(batch(1))))
    thread.start()
    time.sleep(0.05)
    buffer.abandon()
    thread.join(5)
    assert answers == [False]
    assert buffer.empty


def test_an_end_wakes_a_waiting_consumer() -> None:
    buffer = Buffer(10)
    began = time.monotonic()
    threading.Timer(0.05, buffer.end).start()
    assert buffer.get(30) is None
    assert time.monotonic() - began < 20


def test_what_waits_is_joined_up_to_a_size() -> None:
    buffer = Buffer(1000)
    for size in (3, 4, 5):
        buffer.put(batch(size))
    first = buffer.get(1, most=10)
    assert first is not None and first.size == 7
    assert buffer.size == 5


def test_whole_transactions_are_not_joined_with_the_beginning_of_another() -> None:
    buffer = Buffer(1000)
    begun = Batch([], Position("b.1", 0, rows=2), False, size=1)
    for each in (batch(1), begun, batch(1)):
        buffer.put(each)
    assert buffer.get(1, most=100) == batch(1)
    rest = buffer.get(1, most=100)
    assert rest is not None and rest.boundary and rest.size == 2


def test_what_follows_at_once_is_waited_for() -> None:
    buffer = Buffer(1000)
    buffer.more = True
    threading.Timer(0.001, lambda: buffer.put(batch(2))).start()
    found = []
    for _ in range(2):  # the second may have been too late on a busy machine
        buffer.put(batch(1))
        found.append(buffer.get(1, 5))
    assert any(each is not None and each.size >= 3 for each in found)


@pytest.mark.parametrize(("more", "most"), [(False, 1000), (True, 100), (True, 0)])
def test_nothing_else_is(more: bool, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither what may never come, nor more than is wanted."""
    monkeypatch.setattr("replicator.pipeline.buffer._GATHER_SECONDS", 60.0)
    buffer = Buffer(1000)
    buffer.more = more
    buffer.put(batch(90))
    began = time.monotonic()
    assert buffer.get(1, most) is not None
    assert time.monotonic() - began < 20


def test_a_producer_that_settles_waits_until_more_is_asked_for() -> None:
    """What was taken last is in memory until then."""
    buffer, settled = Buffer(10), threading.Event()
    buffer.put(batch(100))

    def settle() -> None:
        buffer.settle()
        settled.set()

    thread = threading.Thread(target=settle)
    thread.start()
    assert buffer.get(1) is not None
    assert not settled.wait(0.1)
    assert buffer.get(0.01) is None
    assert settled.wait(5)
    thread.join()


def test_abandoning_frees_a_producer_that_settles() -> None:
    buffer = Buffer(10)
    buffer.put(batch(100))
    thread = threading.Thread(target=buffer.settle)
    thread.start()
    buffer.abandon()
    thread.join(5)
    assert not thread.is_alive()


def test_a_producer_may_want_less_to_wait_than_there_is_room_for() -> None:
    buffer = Buffer(100)
    buffer.put(batch(10), 15)
    put = threading.Thread(target=buffer.put, args=(batch(10), 15))
    put.start()
    put.join(0.1)
    assert put.is_alive()
    assert buffer.get(1) is not None
    put.join(5)
    assert not put.is_alive()
    assert buffer.size == 10


@pytest.mark.parametrize("statement", [0, 1, 2])
def test_a_statement_is_joined_with_nothing(statement: int) -> None:
    """Whether it comes before, between or behind rows."""
    buffer = Buffer(1000)
    batches = [batch(1) for _ in range(3)]
    batches[statement].barrier = True
    for each in batches:
        buffer.put(each)
    buffer.end()
    found = []
    while (taken := buffer.get(0.01, most=100)) is not None:
        found.append((taken.barrier, taken.size))
    assert (
        found
        == {
            0: [(True, 1), (False, 2)],
            1: [(False, 1), (True, 1), (False, 1)],
            2: [(False, 2), (True, 1)],
        }[statement]
    )
