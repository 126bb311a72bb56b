"""The state machine of one alert."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from replicator.alerts.condition import Verdict
from replicator.alerts.machine import LONGEST_GAP_MS, Alert, step

VERDICTS = st.sampled_from([True, False, None])
TICKS = st.lists(st.tuples(st.integers(-5_000, 90_000), VERDICTS), max_size=60)


def run(ticks: list[tuple[int, Verdict]], for_s: int, keep_s: int) -> list[tuple[int, Verdict, Alert | None]]:
    """(time, verdict, alert afterwards) of each evaluation."""
    now, alert, seen = 1_000_000, None, []
    for passed, verdict in ticks:
        now += passed
        alert = step(alert, verdict, now, for_s, keep_s)
        seen.append((now, verdict, alert))
    return seen


@given(TICKS, st.integers(0, 120), st.integers(0, 120))
def test_what_is_not_known_changes_no_state(ticks: list[tuple[int, Verdict]], for_s: int, keep_s: int) -> None:
    before: Alert | None = None
    for _, verdict, alert in run(ticks, for_s, keep_s):
        if verdict is None:
            assert (alert is None) == (before is None)
            if alert is not None and before is not None:
                assert (alert.state, alert.since_ms, alert.fired_ms) == (before.state, before.since_ms, before.fired_ms)
                assert alert.unknown_ms
        elif alert is not None:
            assert alert.unknown_ms == 0
        before = alert


def known(ticks: list[tuple[int, Verdict, Alert | None]], verdict: bool) -> int:
    """The longest time at the end of which nothing but this verdict, or nothing, was known; time that is known."""
    total = 0
    for (then, before, _), (now, after, _) in pairwise(ticks):
        if after is (not verdict):
            total = 0
        elif before is verdict and after is verdict and 0 <= now - then <= LONGEST_GAP_MS:
            total += now - then
    return total


@given(TICKS, st.integers(0, 120), st.integers(0, 120))
def test_it_fires_after_the_condition_was_known_to_hold_for_long_enough(
    ticks: list[tuple[int, Verdict]], for_s: int, keep_s: int
) -> None:
    seen = run(ticks, for_s, keep_s)
    before: Alert | None = None
    for index, (_, verdict, alert) in enumerate(seen):
        if alert is not None and alert.state == "firing" and (before is None or before.state == "pending"):
            assert verdict is True
            assert known(seen[: index + 1], True) >= for_s * 1000
        if alert is not None and alert.state == "pending" and verdict is True:
            assert alert.held_ms < for_s * 1000
        if before is not None and before.state == "firing" and alert is None:
            assert verdict is False
            assert known(seen[: index + 1], False) >= keep_s * 1000
        before = alert


@given(TICKS, st.integers(1, 120))
def test_a_pending_alert_ends_when_the_condition_fails(ticks: list[tuple[int, Verdict]], for_s: int) -> None:
    for _, verdict, alert in run(ticks, for_s, 60):
        if alert is not None and alert.state == "pending":
            assert verdict is not False


def test_flapping_does_not_end_an_alert_that_is_kept() -> None:
    flapping: list[tuple[int, Verdict]] = [(1000, True), *([(1000, False), (1000, True)] * 20)]
    seen = run(flapping, 0, 5)
    assert {alert.fired_ms for _, _, alert in seen if alert is not None} == {1_001_000}
    assert all(alert is not None for _, _, alert in seen)


def test_a_gap_does_not_count() -> None:
    """A Monitor that was stopped for a day does not know what was in between."""
    alert = step(None, True, 0, 300, 0)
    alert = step(alert, True, 60_000, 300, 0)
    day_later = step(alert, True, 86_400_000, 300, 0)
    assert day_later is not None and (day_later.state, day_later.held_ms) == ("pending", 60_000)


def test_a_clock_that_is_set_back_does_not_count() -> None:
    alert = step(step(None, True, 50_000, 1, 0), True, 10_000, 1, 0)
    assert alert is not None and alert.state == "pending"
