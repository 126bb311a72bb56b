from __future__ import annotations

import threading
import time

import pytest

from replicator.buffer import Buffer
from replicator.model.batch import Batch
from replicator.model.position import Position


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
