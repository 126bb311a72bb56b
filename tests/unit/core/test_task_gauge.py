"""Rates of a task."""

from __future__ import annotations

import pytest

from core.protocol import Progress, Status
from core.task_gauge import TaskGauge
from replicator.model.checkpoint import Checkpoint
from replicator.model.lag import LagFacts
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
    gauge.status(Status(LagFacts(at_ms=1)))
    gauge.reset()
    assert (gauge.last, gauge.position) == (None, "")
    assert gauge.lag().seconds is None
    assert gauge.rates() == (0.0, 0.0)


def facts(**more: int | bool) -> LagFacts:
    return LagFacts(at_ms=NOW, caught_up=True, proof_ms=NOW, **more)  # type: ignore[arg-type]


NOW = 1_760_000_000_000


def test_lag_is_as_of_the_status_while_that_is_fresh(clock):
    """What waited for a millisecond when the worker looked does not wait for as long as the message is old."""
    wall = [NOW + 900]
    gauge = TaskGauge(clock, lambda: wall[0])
    gauge.status(Status(facts(waiting_ms=NOW - 5)))
    assert gauge.lag().seconds == 0.005
    wall[0] = NOW + 20_000
    assert gauge.lag().seconds == 20.005, "a worker that is frozen delivers nothing"


def test_a_worker_that_says_nothing_for_long_is_not_caught_up(clock):
    wall = [NOW + 6_000]
    gauge = TaskGauge(clock, lambda: wall[0])
    gauge.status(Status(facts()))
    assert gauge.lag().seconds == 0.0
    wall[0] = NOW + 30_000
    assert gauge.lag().seconds is None
