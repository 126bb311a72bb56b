"""Roles over time, from changes and the present state."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from monitor.role_changes import Change
from monitor.timeline import Lane, Period, Timeline, timeline
from monitor.view import MemberView, TaskRow

HOUR = 3_600_000
NOW = 100 * HOUR


def task(host: str = "b", state: str = "RUNNING", since_ms: int = 0) -> TaskRow:
    members = (MemberView("b", 1, "RUNNING", 1, 0), MemberView("c", 1, "STANDBY", 2, 0))
    return TaskRow(name="t", state=state, tone="ok", trouble=0, host=host, since_ms=since_ms, members=members)


def change(kind: str, hours: float, host: str = "", **more: object) -> Change:
    return Change("t", 0, kind, "ok", round(hours * HOUR), host=host, **more)  # type: ignore[arg-type]


def drawn(*changes: Change, row: TaskRow | None = None, hours: int = 100) -> Timeline:
    return timeline(row or task(), list(reversed(changes)), NOW - hours * HOUR, NOW)


def lanes(line: Timeline, role: str = "RUNNING") -> dict[str, list[tuple[float, float]]]:
    return {
        lane.host: [(one.from_ms / HOUR, one.to_ms / HOUR) for one in lane.periods if one.role == role]
        for lane in line.lanes
    }


def gaps(line: Timeline) -> list[tuple[float, float]]:
    return [(gap.from_ms / HOUR, gap.to_ms / HOUR) for gap in line.gaps]


def test_a_fail_over_has_a_gap_of_the_measured_length() -> None:
    line = drawn(change("started", 10, "a"), change("fail-over", 50, "b", previous="a", outage_s=1800.0))
    assert lanes(line) == {"b": [(50, 100)], "c": [], "a": [(10, 49.5)]}
    assert line.lanes[0] == Lane("b", "RUNNING", (Period(50 * HOUR, NOW, open=True),))
    assert [lane.role for lane in line.lanes] == ["RUNNING", "STANDBY", ""]


def test_a_switchover_has_a_gap_of_the_length_of_the_hand_over() -> None:
    line = drawn(change("started", 10, "a"), change("switchover", 50, "b", previous="a", seconds=3600.0))
    assert lanes(line)["a"] == [(10, 49)]


def test_a_pause_and_a_failure_end_a_period() -> None:
    line = drawn(
        change("started", 10, "b"),
        change("paused", 20),
        change("running again", 30, "b"),
        change("failed", 40, "b"),
        row=task(state="FAILED", since_ms=40 * HOUR),
    )
    assert lanes(line)["b"] == [(10, 20), (30, 40)]
    assert lanes(line, "PAUSED")["b"] == [(20, 30)] and lanes(line, "FAILED")["b"] == [(40, 100)]
    assert gaps(line) == [(40, 100)], "a pause is none"
    assert [mark.shape for mark in line.marks] == ["other", "pause", "other", "failed"]
    assert [mark.kind for mark in line.marks] == ["started", "paused", "running again", "failed"]


def test_a_resumed_task_is_no_longer_paused() -> None:
    line = drawn(
        change("started", 10, "b"), change("paused", 20), change("resumed", 25), change("running again", 26, "b")
    )
    assert lanes(line, "PAUSED")["b"] == [(20, 25)] and gaps(line) == []


def test_a_standby_is_one_since_it_joined_the_queue() -> None:
    members = (MemberView("b", 1, "RUNNING", 1, 20 * HOUR), MemberView("c", 1, "STANDBY", 2, 70 * HOUR))
    row = msgspec.structs.replace(task(), members=members)
    line = drawn(change("started", 10, "a"), change("fail-over", 50, "b", previous="a", outage_s=3600.0), row=row)
    assert lanes(line, "STANDBY") == {"b": [(20, 50)], "c": [(70, 100)], "a": []}
    assert gaps(line) == [(49, 50)]


def test_the_present_is_behind_a_window_of_the_past() -> None:
    changes = [change("fail-over", 50, "b", previous="a"), change("started", 10, "a")]
    line = timeline(task(), changes, 20 * HOUR, 60 * HOUR, NOW)
    (period,) = line.lanes[0].periods
    assert (period.from_ms, period.to_ms, period.open) == (50 * HOUR, 60 * HOUR, False)


def test_a_worker_that_starts_again_leaves_a_mark() -> None:
    line = drawn(change("started", 10, "b"), change("running again", 60, "b"))
    assert lanes(line)["b"] == [(10, 60), (60, 100)]


def test_a_task_without_running_ends_when_its_state_began() -> None:
    line = drawn(change("started", 10, "b"), row=task(state="NO RUNNING", since_ms=90 * HOUR))
    assert lanes(line)["b"] == [(10, 90)]
    assert gaps(line) == [(90, 100)] and line.gaps[0].open
    assert not line.lanes[0].periods[0].open


def test_what_is_outside_of_the_span_is_cut() -> None:
    line = drawn(change("started", 10, "a"), change("fail-over", 95, "b", previous="a"), hours=20)
    assert lanes(line) == {"b": [(95, 100)], "c": [], "a": [(80, 95)]}
    assert [mark.kind for mark in line.marks] == ["fail-over"]
    old = drawn(change("started", 10, "a"), change("switchover", 50, "b", previous="a"), hours=20)
    assert lanes(old) == {"b": [(80, 100)], "c": []}


def test_a_history_that_was_trimmed_begins_with_the_first_word() -> None:
    assert lanes(drawn(change("paused", 20), change("failed", 30, "b"), row=task(state="PAUSED"))) == {"b": [], "c": []}


kinds = st.sampled_from(["started", "running again", "fail-over", "switchover", "gave up", "failed", "paused", "ddl"])
made = st.builds(
    lambda kind, hours, host, gap: change(kind, hours, host, previous="a" if host != "a" else "b", seconds=gap),
    kinds,
    st.floats(0, 100),
    st.sampled_from("abc"),
    st.floats(0, 10_000),
)


@given(st.lists(made, max_size=12), st.sampled_from(["RUNNING", "NO RUNNING", "FAILED"]))
def test_periods_are_within_the_span(changes: list[Change], state: str) -> None:
    """Whatever clocks of hosts wrote."""
    ordered = sorted(changes, key=lambda one: one.time_ms)
    line = drawn(*ordered, row=task(state=state), hours=50)
    for lane in line.lanes:
        for period in lane.periods:
            assert line.from_ms <= period.from_ms <= period.to_ms <= line.to_ms
            assert 0 <= line.share(period.from_ms) <= line.share(period.to_ms) <= 100
        known = sorted(lane.periods, key=lambda one: one.from_ms)
        assert list(lane.periods) == known
    assert all(line.from_ms <= gap.from_ms <= gap.to_ms <= line.to_ms for gap in line.gaps)
