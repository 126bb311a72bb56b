from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from replicator.errors import SinkError, SinkUnavailable
from replicator.model.position import Position
from replicator.sink.kafka.window import Window

AT = Position("binlog.000001", 4)


def quiet(age: float) -> None:
    """Nothing to say while waiting."""


def later(seconds: float, call: Callable[..., Any], *args: Any) -> threading.Timer:
    timer = threading.Timer(seconds, call, args)
    timer.start()
    return timer


def test_admits_until_full_and_waits_then() -> None:
    window = Window(100, 10, quiet)
    first = window.admit(60)
    window.admit(40)
    assert window.bytes == 100
    began = time.monotonic()
    later(0.15, window.done, first)
    window.admit(50)
    assert time.monotonic() - began > 0.1
    assert window.peak == 100
    assert 0.1 < window.waited <= time.monotonic() - began


def test_only_waiting_for_room_is_counted() -> None:
    window = Window(100, 10, quiet)
    later(0.1, window.done, window.admit(60))
    window.drain(1)
    assert window.waited == 0
    later(0.1, window.done, window.admit(9 << 20))
    window.drain_large(1)
    assert window.waited > 0.05


def test_a_single_large_piece_is_admitted_alone() -> None:
    window = Window(100, 10, quiet)
    large = window.admit(500)
    later(0.1, window.done, large)
    window.admit(1)
    assert window.bytes == 1


def test_the_first_failure_is_kept_and_ends_every_wait() -> None:
    window = Window(10, 10, quiet)
    first, second = window.admit(5), window.admit(5)
    window.mark(AT)
    cause = SinkError("E3107", "the cause")
    window.done(first, cause)
    window.done(second, SinkUnavailable("E3002", "a consequence"))
    for call in (lambda: window.admit(1), lambda: window.drain(1), window.acknowledged):
        with pytest.raises(SinkError) as raised:
            call()
        assert raised.value is cause


def test_acknowledged_is_a_prefix() -> None:
    window = Window(100, 10, quiet)
    first, second = window.admit(1), window.admit(1)
    window.mark(AT)
    window.done(second)
    assert window.acknowledged() is None
    window.done(first)
    assert window.acknowledged() == AT


def test_a_piece_may_not_be_outstanding_for_ever() -> None:
    window = Window(10, 0.2, quiet)
    window.admit(10)
    with pytest.raises(SinkUnavailable, match="not acknowledged within"):
        window.admit(1)
    with pytest.raises(SinkUnavailable):
        window.acknowledged()


def test_only_large_pieces_are_waited_for_at_once() -> None:
    window = Window(100 << 20, 10, quiet)
    window.admit(8 << 20)
    window.drain_large(5)
    large = window.admit((8 << 20) + 1)
    with pytest.raises(SinkUnavailable, match="in time"):
        window.drain_large(0.05)
    window.done(large)
    window.drain_large(5)
    assert window.bytes == 8 << 20


def test_drain_is_bounded() -> None:
    window = Window(10, 60, quiet)
    window.admit(1)
    began = time.monotonic()
    with pytest.raises(SinkUnavailable, match="in time"):
        window.drain(0.2)
    assert time.monotonic() - began < 1


def test_poll_ends_a_wait_and_does_not_hold_the_sender_up() -> None:
    window = Window(10, 60, lambda age: poll(age))
    number = window.admit(10)
    calls = 0

    def poll(age: float) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            thread = threading.Thread(target=window.done, args=(window_second,))
            thread.start()
            thread.join(2)
            assert not thread.is_alive(), "the sender thread was held up"
        else:
            raise SinkError("E3101", "the topic is gone")

    window_second = window._prefix.sent()
    window._sent[window_second] = (0, time.monotonic())
    with pytest.raises(SinkError, match="gone"):
        window.drain(30)
    assert number == 0
