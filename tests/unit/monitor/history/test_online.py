"""How long a machine was online: only of the time that somebody saw."""

from __future__ import annotations

from math import isclose, nan
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from monitor.history.history import History
from monitor.history.online import SPANS_S, online_rate, step_for
from monitor.history.series import machine_key
from monitor.history.steps import STEPS
from monitor.history.store import Store
from monitor.machines_seen import rows
from monitor.view import MachineView, View
from tests.unit.monitor.history.test_history import BEGIN, LIMIT, Clock

DAY, WEEK, MONTH = SPANS_S


def machine(state: str = "online", host: str = "host-a", **values: object) -> MachineView:
    settings = {"host": host, "state": state, "tone": "ok", "since_ms": 1, "load1": 1.5, "cpu": 0.25}
    return MachineView(**{**settings, **values})  # type: ignore[arg-type]


class Watched:
    def __init__(self, path: Path | None = None) -> None:
        self.clock = Clock()
        self.store = Store(path, LIMIT)
        self.history = History(self.store, self.clock)

    def see(self, first: int, last: int, state: str = "online", every: int = 1) -> Watched:
        for second in range(first, last, every):
            self.clock.now = second
            view = View(root="/r", read_ms=(BEGIN + second) * 1000, machines=(machine(state),))
            self.history.note(view)
        return self

    def close(self) -> None:
        self.history.flush(all_of_them=True)
        self.store.close()


def test_of_what_was_seen() -> None:
    watched = Watched().see(0, 1200).see(1200, 1500, "offline").see(1500, 2400)
    day, week, month = watched.history.online("host-a", BEGIN + 2399)
    assert day.share is not None and isclose(day.share, 2100 / 2400, rel_tol=1e-6)
    assert (day.seen_s, day.span_s) == (2400, DAY)
    assert isclose(day.offline_s, 300, rel_tol=1e-5)
    assert week.share == month.share and week.seen_s == 2400


def test_time_that_nobody_saw_is_neither_online_nor_offline(tmp_path: Path) -> None:
    before = Watched(tmp_path / "h").see(0, 600)
    before.close()  # a Monitor that did not run for a quarter of an hour
    day = Watched(tmp_path / "h").see(1500, 2100, "offline").history.online("host-a", BEGIN + 2099)[0]
    assert (day.share, day.seen_s) == (0.5, 1200)


def test_a_machine_that_has_ended_on_purpose_was_not_to_be_online() -> None:
    day = Watched().see(0, 600).see(600, 1800, "stopped").history.online("host-a", BEGIN + 1799)[0]
    assert (day.share, day.seen_s) == (1.0, 600)


def test_one_that_does_not_report_is_not_online() -> None:
    assert Watched().see(0, 60, "silent").history.online("host-a", BEGIN + 59)[0].share == 0.0


def test_nothing_is_known_of_a_machine_that_nobody_has_seen() -> None:
    for rate in Watched().see(0, 60).history.online("host-b", BEGIN + 59):
        assert (rate.share, rate.seen_s, rate.offline_s) == (None, 0.0, 0.0)


def test_a_second_is_not_rounded_away() -> None:
    day = Watched().see(0, 1000).see(1000, 1001, "offline").see(1001, 1200).history.online("host-a", BEGIN + 1199)[0]
    assert day.share is not None and 0.999 < day.share < 1


def test_charts_of_a_machine_beside_those_of_a_task_of_its_name() -> None:
    chart = Watched().see(0, 10).see(20, 30, "offline").history.chart(machine_key("host-a"), "15m", BEGIN + 29)
    assert (chart.machine, chart.task) == ("host-a", "")
    assert chart.series["cpu"][-30:] == [0.25] * 10 + [None] * 20
    assert chart.series["online"][-30:] == [1.0] * 10 + [None] * 10 + [0.0] * 10
    assert set(Watched().see(0, 10).history.chart("host-a", "15m", BEGIN + 9).series["lag_s"]) == {None}


def test_the_steps_are_kept_for_the_whole_span() -> None:
    for span in SPANS_S:
        step = step_for(span)
        assert step in STEPS and step.keep_s >= span and span % step.seconds == 0


@given(st.lists(st.one_of(st.just(nan), st.floats(0, 1)), min_size=1, max_size=200))
def test_the_rate_is_that_of_the_known_steps(values: list[float]) -> None:
    known = [value for value in values if value == value]
    rate = online_rate(values, 100 * len(values))
    if not known:
        assert rate.share is None and rate.seen_s == 0
        return
    assert rate.share is not None and 0 <= rate.share <= 1
    assert isclose(rate.share, sum(known) / len(known), rel_tol=1e-9, abs_tol=1e-12)
    assert isclose(rate.seen_s, 100 * len(known))
    assert 0 <= rate.offline_s <= rate.seen_s + 1e-9


@given(st.lists(st.sampled_from(["online", "offline", "stopped", ""]), min_size=1, max_size=8))
def test_whatever_happens_minute_by_minute(story: list[str]) -> None:
    """`""`: the Monitor does not run."""
    watched = Watched()
    begin = -(-BEGIN // 60) * 60 - BEGIN
    for minute, state in enumerate(story):
        if state:
            watched.see(begin + 60 * minute, begin + 60 * (minute + 1), state, every=10)
    day = watched.history.online("host-a", BEGIN + begin + 60 * len(story) - 1)[0]
    online, offline = story.count("online"), story.count("offline")
    assert day.seen_s == 60 * (online + offline)
    assert day.share == (None if not online + offline else online / (online + offline)) or isclose(
        day.share or 0, online / (online + offline), rel_tol=1e-6
    )


def test_a_second_core_of_a_host_has_the_roles_of_the_host() -> None:
    (row,) = rows(View(root="/r"), [(machine(host="host-a~1234", role="core"), ())])
    assert row.roles == ("core",)
