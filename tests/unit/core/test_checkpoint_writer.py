"""The checkpoint writer: paced, the latest only, urgent at once, and never after its end."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from functools import partial

import pytest

from core.checkpoint_writer import CheckpointWriter, _Pen
from core.core_counters import CoreCounters
from core.protocol import Progress
from replicator.errors import CoordinationError, LeadershipLost, NotConnected, PositionBehind
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position
from tests.support.waiting import eventually


def progress(number: int, urgent: bool = False, *, rows: int | None = None) -> Progress:
    """rows: delivered so far; None: one for each number."""
    return Progress(number, Checkpoint(Position("b.1", number), rows=number if rows is None else rows), urgent)


class Term:
    """What a TermProgress is to the writer."""

    def __init__(self) -> None:
        self.written: list[int] = []
        self.errors: list[CoordinationError] = []
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()

    def save(self, checkpoint: Checkpoint) -> None:
        self.entered.set()
        self.gate.wait(5)
        if self.errors:
            raise self.errors.pop(0)
        self.written.append(checkpoint.position.offset)

    def has(self, offset: int) -> bool:
        return offset in self.written


class CoreContext:
    def __init__(self) -> None:
        self.failed: list[tuple[str, str]] = []
        self.counters = CoreCounters()
        self.writer = CheckpointWriter(
            lambda task, error: self.failed.append((task, error.code)), counters=self.counters
        )
        self.term = Term()
        self.saved: list[int] = []
        self.writer.start()

    def begin(self, interval: float = 0.3) -> None:
        self.writer.begin("t", self.term, interval, self.saved.append)


@pytest.fixture
def bench() -> Iterator[CoreContext]:
    bench = CoreContext()
    yield bench
    bench.writer.stop()


def test_the_first_at_once_then_paced_and_the_latest_only(bench):
    bench.begin()
    began = time.monotonic()
    for number in range(1, 30):
        bench.writer.submit("t", progress(number))
        time.sleep(0.01)
    eventually(lambda: bench.saved[-1:] == [29])
    assert time.monotonic() - began >= 0.3
    assert len(bench.term.written) <= 4


def test_urgent_does_not_wait(bench):
    bench.begin(interval=60)
    bench.writer.submit("t", progress(1))
    eventually(lambda: bench.saved == [1])
    bench.writer.submit("t", progress(2))
    bench.writer.submit("t", progress(3, urgent=True))
    eventually(lambda: bench.saved == [1, 3], 1)


def test_an_unknown_outcome_is_tried_again_with_the_latest(bench):
    bench.begin(interval=0)
    bench.term.errors = [NotConnected("E4002", "x")]
    bench.writer.submit("t", progress(1))
    eventually(lambda: bench.saved == [1], 2)
    assert bench.counters.counts().checkpoint_failures == {"not_connected": 1}


@pytest.mark.parametrize(
    ("error", "reason"), [(LeadershipLost("E4008", "x"), "lost"), (PositionBehind("E4012", "x"), "refused")]
)
def test_a_term_that_can_not_write_says_so_once_and_writes_no_more(bench, error, reason):
    bench.begin(interval=0)
    bench.term.errors = [error]
    bench.writer.submit("t", progress(1))
    eventually(lambda: bench.failed == [("t", error.code)])
    bench.writer.submit("t", progress(2))
    time.sleep(0.1)
    assert bench.term.written == []
    assert bench.counters.counts().checkpoint_failures == {reason: 1}


def test_the_end_waits_for_a_write_under_way_and_drops_the_rest(bench):
    bench.begin(interval=0)
    bench.term.gate.clear()
    bench.writer.submit("t", progress(1))
    assert bench.term.entered.wait(2)
    bench.writer.submit("t", progress(2))
    threading.Timer(0.2, bench.term.gate.set).start()
    began = time.monotonic()
    bench.writer.end("t")
    assert time.monotonic() - began >= 0.15
    bench.writer.submit("t", progress(3))
    time.sleep(0.1)
    assert bench.term.written == [1]


def test_tasks_do_not_wait_for_each_others_interval(bench):
    other = Term()
    bench.begin(interval=60)
    bench.writer.begin("u", other, 0.0, lambda number: None)
    bench.writer.submit("t", progress(1))
    bench.writer.submit("t", progress(2))
    for number in range(1, 4):
        bench.writer.submit("u", progress(number))
        eventually(partial(other.has, number), 1)


def test_what_stands_is_not_written_again_for_a_while(bench, monkeypatch):
    bench.begin(interval=0)
    bench.writer.submit("t", progress(7))
    eventually(lambda: bench.saved == [7])
    before = bench.writer.written_ms["t"]
    for number in range(20):
        checkpoint = Checkpoint(Position("b.1", 7), rows=7, time_ms=number)  # as after a heartbeat of the source
        bench.writer.submit("t", Progress(7, checkpoint))
        time.sleep(0.005)
    assert bench.term.written == [7]
    assert bench.writer.written_ms["t"] > before, "its age says that it is up to date"
    monkeypatch.setattr("core.checkpoint_writer._AGAIN", 0.0)  # one that was deleted by hand comes back
    bench.writer.submit("t", progress(7))
    eventually(lambda: bench.term.written == [7, 7])


def test_positions_without_rows_are_written_less_often_and_rows_at_once(bench):
    bench.begin(interval=0.1)
    bench.writer.submit("t", progress(1, rows=1))
    eventually(lambda: bench.saved == [1])
    began = time.monotonic()
    bench.writer.submit("t", progress(2, rows=1))
    eventually(lambda: bench.saved == [1, 2], 2)
    assert time.monotonic() - began >= 0.4
    bench.writer.submit("t", progress(3, rows=1))
    time.sleep(0.2)
    assert bench.saved == [1, 2]
    bench.writer.submit("t", progress(4, rows=2))
    eventually(lambda: bench.saved == [1, 2, 4], 0.2)


def test_a_task_that_is_long_idle_in_a_busy_log_is_written_once_a_minute(bench, monkeypatch):
    now = [1000.0]
    pen = _Pen(bench.term, 1.0, lambda number: None)
    pen.wrote(Checkpoint(Position("b.1", 0), rows=5), now[0])
    pen.due = now[0] + 1.0
    waits = []
    for number in range(1, 9):
        checkpoint = Checkpoint(Position("b.1", number * 1000), rows=5)
        pen.pending = Progress(number, checkpoint)
        waits.append(pen.when() - pen.written)
        now[0] = pen.when()
        pen.wrote(checkpoint, now[0])
        pen.due = now[0] + 1.0
    assert waits == [5.0, 10.0, 20.0, 40.0, 60.0, 60.0, 60.0, 60.0]
    for checkpoint, wait in (
        (Checkpoint(Position("b.1", 8000 + (16 << 20)), rows=5), 5.0),
        (Checkpoint(Position("b.2", 8500), rows=5), 5.0),
        (Checkpoint(Position("b.1", 7000), rows=5), 5.0),
        (Checkpoint(Position("b.1", 9000), rows=6), 1.0),
    ):
        pen.pending = Progress(9, checkpoint)
        assert pen.when() - pen.written == wait, checkpoint
    pen.wrote(checkpoint, now[0])
    pen.due, pen.pending = now[0] + 1.0, Progress(10, Checkpoint(Position("b.1", 9500), rows=6))
    assert pen.when() - pen.written == 5.0, "rows begin it again"
