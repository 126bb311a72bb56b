"""Rates of a task's stages, from the counters of its worker."""

from __future__ import annotations

from math import isnan

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from monitor.history.stages import NAMES, UNKNOWN, StageRates
from monitor.view import TaskRow
from replicator.model.activity import Activity
from replicator.model.histogram import Histogram

TASK = TaskRow(name="t", state="RUNNING", tone="ok", trouble=0)


def row(activity: Activity | None, **more: object) -> TaskRow:
    return msgspec.structs.replace(TASK, activity=activity, **more)


def named(values: tuple[float, ...]) -> dict[str, float]:
    return dict(zip(NAMES, values, strict=True))


FIRST = Activity((100, 200, 300, 400), (10, 20), Histogram((1,), 500), 1000)
SECOND = Activity((600, 450, 300, 1400), (10, 270), Histogram((1, 2), 700), 2000, 5, 4096)


def test_rates_are_those_of_the_time_between_two_reports() -> None:
    rates = StageRates()
    assert all(map(isnan, rates.of(row(FIRST), 1000))), "nothing to compare with"
    found = named(rates.of(row(SECOND), 2000))
    assert found == {
        "publish_s": 0.1, "inflight_bytes": 4096.0, "busy_read": 0.5, "busy_decode": 0.25, "busy_write": 0.0,
        "busy_commit": 1.0, "blocked_decode": 0.0, "blocked_write": 0.25,
    }  # fmt: skip


def test_a_report_that_is_read_twice_has_the_same_rates() -> None:
    rates = StageRates()
    rates.of(row(FIRST), 1000)
    once = rates.of(row(SECOND), 2000)
    assert rates.of(row(SECOND), 3000) == once
    still = named(rates.of(row(SECOND), 4600))
    assert isnan(still.pop("publish_s")) and set(still.values()) == {0.0}, "idle"
    third = msgspec.structs.replace(SECOND, busy_ms=(1100, 450, 300, 1400))
    assert named(rates.of(row(third), 4600))["busy_read"] == 0.5, "not of the whole time that it was idle"


def test_another_worker_is_not_compared_with_the_one_before() -> None:
    rates = StageRates()
    rates.of(row(SECOND), 1000)
    assert all(map(isnan, rates.of(row(FIRST), 2000)))
    assert not isnan(rates.of(row(SECOND), 3000)[0])


def test_what_nobody_reports_is_unknown() -> None:
    rates = StageRates()
    rates.of(row(FIRST), 1000)
    assert rates.of(row(SECOND, figures_old=True), 2000) is UNKNOWN and rates.of(row(None), 3000) is UNKNOWN
    assert all(map(isnan, rates.of(row(SECOND), 4000))), "the time between was not seen"
    rates.keep(set())
    assert all(map(isnan, rates.of(row(SECOND), 5000)))


counters = st.builds(
    Activity,
    st.tuples(*[st.integers(0, 10_000)] * 4),
    st.tuples(*[st.integers(0, 10_000)] * 2),
    st.builds(Histogram, st.lists(st.integers(0, 9), max_size=11).map(tuple), st.integers(0, 10_000)),
    st.integers(0, 10_000),
    st.integers(0, 10_000),
    st.integers(0, 10_000),
)


@given(st.lists(st.tuples(counters, st.integers(-1000, 5000)), max_size=8))
def test_shares_are_shares(reports: list[tuple[Activity, int]]) -> None:
    """Whatever Cores report, and however clocks are set."""
    rates, now = StageRates(), 0
    for activity, step in reports:
        now += step
        for name, value in named(rates.of(row(activity), now)).items():
            assert isnan(value) or value >= 0
            assert isnan(value) or value <= 1 or not name.startswith(("busy", "blocked"))
