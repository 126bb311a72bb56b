"""Changes of many tasks at once are one line."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from monitor.changes_joined import TOGETHER_MS, joined
from monitor.role_changes import Change
from monitor.view_builder import CHANGES
from tests.unit.monitor.scene import many
from tests.unit.monitor.test_problems import NOW
from tests.unit.monitor.test_view_builder import Eye


def change(task: str, ms: int, kind: str = "maintenance", **fields: Any) -> Change:
    return Change(task, 1, kind, "idle", ms, **fields)


def test_a_maintenance_of_all_is_one_line() -> None:
    bus = many(40)
    for name in sorted(bus.cores["host-a"].names):
        bus.happened(name, "maintenance", 30, by="jan", reason="on: kernels")
    view = Eye(bus).look()
    (line,) = joined(view.changes)
    assert (line.tasks, line.begins_day) == (tuple(sorted(bus.cores["host-a"].names)), True)
    assert len(view.changes) == len(line.tasks) <= CHANGES


def test_what_is_not_joined() -> None:
    told = [
        change("a", NOW, by="jan"),
        change("b", NOW - 1, by="maria"),
        change("c", NOW - 2, "failed"),
        change("d", NOW - 3, "position", position="binlog.1:4"),
        change("e", NOW - 4, "position", position="binlog.1:4"),
        change("f", NOW - TOGETHER_MS - 1, by="jan"),
    ]
    assert [line.tasks for line in joined(told)] == [("a",), ("b",), ("c",), ("d",), ("e",), ("f",)]


def test_days() -> None:
    day = 86_400_000
    lines = joined([change("a", NOW, "x"), change("b", NOW - 1, "y"), change("c", NOW - day, "x")])
    assert [(line.begins_day, line.day) for line in lines] == [
        (True, "26 Nov 2026"),
        (False, "26 Nov 2026"),
        (True, "25 Nov 2026"),
    ]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 300), st.sampled_from(["x", "y"]))))
def test_every_change_is_in_a_line_and_the_newest_first(found: list[tuple[str, int, str]]) -> None:
    told = [change(task, NOW - 1000 * age, kind) for task, age, kind in sorted(found, key=lambda each: each[1])]
    lines = joined(told)
    assert {task for line in lines for task in line.tasks} == {each.task for each in told}
    times = [line.change.time_ms for line in lines]
    assert times == sorted(times, reverse=True) and len(lines) <= len(told)
