"""Charts over what a Monitor has seen, over restarts, gaps, damaged files and full disks."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from monitor.history.history import Chart, History
from monitor.history.kept import Kept, own_file
from monitor.history.steps import STEPS
from monitor.history.store import Store
from monitor.view import TaskRow, View
from replicator.errors import ProcessError

BEGIN = 1_800_000_000
LIMIT = 100_000_000


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def row(**values: object) -> TaskRow:
    settings = {"name": "copy", "state": "RUNNING", "tone": "ok", "trouble": 0, "lag_s": 0.5, "rows_per_s": 10.0}
    return TaskRow(**{**settings, **values})  # type: ignore[arg-type]


class Watched:
    """A history that has seen a task second by second."""

    def __init__(self, path: Path | None = None, limit: int = LIMIT) -> None:
        self.clock = Clock()
        self.store = Store(path, limit)
        self.history = History(self.store, self.clock)

    def see(self, first: int, last: int, task: Callable[[int], TaskRow] = lambda second: row()) -> Watched:
        for second in range(first, last):
            self.clock.now = second
            tasks = (task(second),)
            self.history.note(View(root="/r", read_ms=(BEGIN + second) * 1000, tasks=tasks))
        return self

    def chart(self, span: str, second: int, task: str = "copy") -> Chart:
        return self.history.chart(task, span, BEGIN + second)


def test_points_of_the_last_minutes() -> None:
    chart = Watched().see(0, 100, lambda second: row(lag_s=float(second))).chart("15m", 99)
    assert chart.step_s == 1
    assert len(chart.series["lag_s"]) == 900
    assert chart.begin_s + 899 == BEGIN + 99
    assert chart.series["lag_s"][-100:] == [float(second) for second in range(100)]
    assert set(chart.series["lag_s"][:-100]) == {None}


def test_a_gap_is_a_gap() -> None:
    """Not a line from before to after it."""
    watched = Watched().see(0, 10).see(20, 30)
    assert watched.chart("15m", 29).series["rows_per_s"][-30:] == [10.0] * 10 + [None] * 10 + [10.0] * 10


def test_nobody_running_is_seen_in_long_steps() -> None:
    def task(second: int) -> TaskRow:
        return row(state="NO RUNNING") if second in (100, 101) else row(lag_s=30.0 if second == 200 else 0.1)

    chart = Watched().see(0, 1200, task).chart("7d", 1199)
    assert chart.step_s == 600
    assert chart.series["running"][-2:] == [0.0, 1.0]
    assert chart.series["lag_s"][-2:] == [30.0, 0.1]
    assert chart.series["rows_per_s"][-2:] == [10.0, 10.0], "the mean of what was reported"


@pytest.mark.parametrize(
    ("task", "running"),
    [
        (row(state="PAUSED", desired="paused"), None),
        (row(state="UNCONFIGURED"), None),
        (row(state="FAILED"), 0.0),
        (row(figures_old=True), 1.0),
    ],
)
def test_what_is_not_reported_is_not_zero(task: TaskRow, running: float | None) -> None:
    chart = Watched().see(0, 3, lambda second: task).chart("15m", 2)
    assert chart.series["lag_s"][-1] is None
    assert chart.series["rows_per_s"][-1] is None
    assert chart.series["running"][-1] == running


def test_a_restart_keeps_all_but_the_time_in_between(tmp_path: Path) -> None:
    before = Watched(tmp_path / "h").see(0, 400)
    before.history.flush(all_of_them=True)
    before.store.close()
    after = Watched(tmp_path / "h").see(410, 500)
    rates = after.chart("15m", 499).series["rows_per_s"]
    assert rates[-500:] == [10.0] * 400 + [None] * 10 + [10.0] * 90
    assert after.chart("24h", 499).series["rows_per_s"][-9:] == [10.0] * 9, "the minute of the restart, too"


def test_a_crash_loses_some_seconds(tmp_path: Path) -> None:
    before = Watched(tmp_path / "h")
    for second in range(95):
        before.see(second, second + 1)
        if second % 10 == 9:
            before.history.flush()
    before.store.close()  # without the flush of a stop
    known = [value for value in Watched(tmp_path / "h").chart("15m", 94).series["lag_s"] if value is not None]
    assert 80 <= len(known) <= 95


def test_a_deleted_task_is_kept_and_another_of_its_name_goes_on() -> None:
    watched = Watched().see(0, 10).see(10, 20, lambda second: row(name="other")).see(20, 30)
    assert watched.chart("15m", 29).series["lag_s"][-30:] == [0.5] * 10 + [None] * 10 + [0.5] * 10
    assert watched.chart("15m", 29, "other").series["lag_s"][-20:-10] == [0.5] * 10
    assert set(watched.chart("15m", 29, "never").series["lag_s"]) == {None}


def test_what_is_too_old_is_deleted(tmp_path: Path) -> None:
    watched = Watched(tmp_path / "h").see(0, 700)
    watched.history.flush(all_of_them=True)
    watched.history.trim(BEGIN + 5 * 86_400)
    left = watched.store.between("copy", STEPS[0], 0, 2 * BEGIN) | watched.store.between("copy", STEPS[1], 0, 2 * BEGIN)
    assert left == {}
    assert watched.store.between("copy", STEPS[2], 0, 2 * BEGIN) != {}
    watched.history.trim(BEGIN + 400 * 86_400)
    assert watched.store.between("copy", STEPS[3], 0, 2 * BEGIN) == {}


def test_the_file_stays_below_its_limit(tmp_path: Path) -> None:
    """The newest figures are the last to go."""
    watched = Watched(tmp_path / "h", limit=400_000)
    for second in range(0, 20_000, 5):
        watched.see(second, second + 1, lambda second: row(lag_s=hash(second) % 1000 / 7, rows_per_s=second**2 % 977))
    watched.history.flush(all_of_them=True)
    assert watched.store.size > 0
    small = Watched(tmp_path / "h2", limit=100_000)
    for second in range(0, 20_000, 5):
        small.see(second, second + 1, lambda second: row(lag_s=hash(second) % 1000 / 7, rows_per_s=second**2 % 977))
    small.history.flush(all_of_them=True)
    before = small.store.size
    small.history.trim(BEGIN + 20_000)
    assert small.store.size <= max(100_000, before)
    assert small.chart("15m", 19_999).series["lag_s"][-5] is not None


def test_two_monitors_do_not_share_a_file(tmp_path: Path) -> None:
    first = Watched(tmp_path / "h").see(0, 3)
    first.history.flush(all_of_them=True)
    with pytest.raises(ProcessError, match="E5130") as raised:
        Store(tmp_path / "h", LIMIT)
    assert "another Monitor" in raised.value.found


def test_a_damaged_file_is_set_aside(tmp_path: Path) -> None:
    (tmp_path / "h").write_bytes(b"no database" * 1000)
    watched = Watched(tmp_path / "h").see(0, 3)
    watched.history.flush(all_of_them=True)
    assert watched.chart("15m", 2).series["lag_s"][-1] == 0.5
    (kept,) = tmp_path.glob("h.*.damaged")
    assert kept.read_bytes().startswith(b"no database")


def test_a_file_of_a_later_version_is_set_aside(tmp_path: Path) -> None:
    database = sqlite3.connect(tmp_path / "h")
    database.execute("PRAGMA user_version=99")
    database.close()
    Watched(tmp_path / "h").store.close()
    assert len(list(tmp_path.glob("h.*.damaged"))) == 1


def test_a_disk_that_is_full_costs_the_file_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    watched = Watched(tmp_path / "h").see(0, 20)

    def full(chunks: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(watched.store, "write", full)
        watched.history.flush(all_of_them=True)
    assert "full" in watched.history.problem
    assert watched.see(20, 25).chart("15m", 24).series["lag_s"][-25:] == [0.5] * 25
    watched.history.flush(all_of_them=True)
    assert watched.history.problem == ""
    watched.store.close()
    assert Watched(tmp_path / "h").chart("15m", 24).series["lag_s"][-25:] == [0.5] * 25


def test_a_file_that_nobody_chose_may_be_missing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    impossible = tmp_path / "file" / "h"
    assert not Kept(impossible, LIMIT, chosen=False).opened().stored
    with pytest.raises(ProcessError, match="E5130"):
        Kept(impossible, LIMIT).opened()


def test_two_monitors_of_one_host_have_two_files() -> None:
    files = {own_file("/r", "127.0.0.1:8081"), own_file("/r", "127.0.0.1:8082"), own_file("/q", "127.0.0.1:8081")}
    assert len(files) == 3
