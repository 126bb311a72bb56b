"""Rates of a task."""

from __future__ import annotations

import pytest

from core.protocol import Progress
from core.task_gauge import TaskGauge
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position
from tests.support.cores import FakeClock


def progress(rows: int, size: int = 0) -> Progress:
    return Progress(1, Checkpoint(Position("b.1", 4)), rows=rows, bytes=size)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def test_rates_are_over_the_time_between_readings(clock):
    gauge = TaskGauge(clock)
    assert gauge.rates() == (0.0, 0.0)
    clock.now += 1
    gauge.note(progress(500, 10_000))
    assert gauge.rates() == (500.0, 10_000.0)
    clock.now += 2
    gauge.note(progress(600, 10_000))
    assert gauge.rates() == (50.0, 0.0)


def test_readings_too_close_together_repeat_the_last(clock):
    gauge = TaskGauge(clock)
    gauge.rates()
    clock.now += 1
    gauge.note(progress(500))
    assert gauge.rates()[0] == 500.0
    clock.now += 0.01
    gauge.note(progress(5000))
    assert gauge.rates()[0] == 500.0


def test_a_new_worker_counts_from_nothing(clock):
    gauge = TaskGauge(clock)
    gauge.rates()
    gauge.note(progress(500))
    gauge.wait({"code": "E2001"})
    gauge.reset()
    assert (gauge.last, gauge.position, gauge.waiting) == (None, "", None)
    assert gauge.rates() == (0.0, 0.0)


def test_streaming_ends_waiting(clock):
    gauge = TaskGauge(clock)
    gauge.wait({"code": "E2001"})
    gauge.streaming("b.1:4")
    assert gauge.waiting is None
    assert gauge.position == "b.1:4"
