"""What a snapshot asks of ZooKeeper: what has changed, whatever the number of tasks."""

from __future__ import annotations

import re
from typing import Any

import pytest

from monitor.feed import Feed
from monitor.overview_page import table
from monitor.render import Renderer
from monitor.snapshot_history import SnapshotHistory
from monitor.snapshot_reader import CHECKED, SnapshotReader
from monitor.view_builder import build
from tests.support.counted import Counted
from tests.unit.monitor.scene import Bus, now_ms


def bus_of(tasks: int) -> Bus:
    bus = Bus()
    first, second = bus.core("host-a"), bus.core("host-b")
    for number in range(tasks):
        bus.task(f"task_{number}")
        first.stand(f"task_{number}", "RUNNING", rows=1, lag_s=0.0, since_ms=now_ms())
        second.stand(f"task_{number}")
        bus.happened(f"task_{number}", "running", 60, host="host-a")
    first.report()
    second.report()
    return bus


@pytest.mark.parametrize("tasks", [2, 40])
def test_requests_do_not_grow_with_tasks_that_do_nothing(tasks: int) -> None:
    bus = bus_of(tasks)
    counted = Counted(bus.session())
    reader = SnapshotReader(counted.port, bus.layout)
    assert len(reader.read().tasks) == tasks
    assert sum(counted.taken().values()) > 10 * tasks
    for core in bus.cores.values():
        core.report()
    reader.read()
    assert counted.taken() == {"catch_up": 1, "get": 2}, "the two machines, which report once a second"
    assert reader.check() == "" and sum(counted.taken().values()) <= 2 * CHECKED


def test_a_snapshot_has_everything_that_was_written_before_it() -> None:
    bus = bus_of(3)
    reader = SnapshotReader(bus.session(), bus.layout)
    reader.read()
    bus.happened("task_1", "failed", 0, host="host-a")
    bus.task("task_9")
    bus.cores["host-a"].die()
    seen = {task.name: task for task in reader.read().tasks}
    assert set(seen) == {"task_0", "task_1", "task_2", "task_9"}
    assert seen["task_1"].history[-1].record.kind == "failed"
    assert [task.overview.host for task in seen.values()] == ["host-b"] * 3 + [""]
    assert seen["task_0"].overview.standbys == []


def test_rows_of_tasks_that_do_nothing_are_not_sent_again() -> None:
    bus = bus_of(3)
    now = [1000.0]
    reader, history, renderer, feed = SnapshotReader(bus.session(), bus.layout), SnapshotHistory(), Renderer(), Feed()
    history._clock = lambda: now[0]

    def changed() -> set[str]:
        version, now[0] = feed.version, now[0] + 7.0
        for core in bus.cores.values():
            for figures in core.figures.values():
                figures.lease_left_s = 3.0 + now[0] % 3
            core.report()
        feed.publish(renderer.fragments(build(reader.read(), history, "/x"), now_ms() + int(now[0] * 1000)))
        return {key for key in feed.since(version).html if key.startswith(("tasks:", "values:", "sparks:"))}

    assert len(changed()) == 9
    assert [changed() for _ in range(3)] == [set()] * 3
    bus.cores["host-a"].figures["task_0"].lease_left_s = 1.0
    bus.cores["host-a"].figures["task_1"].position = "binlog.000042:4"
    bus.cores["host-a"].figures["task_2"].lag_s = 50.0
    bus.cores["host-a"].report()
    version = feed.version
    feed.publish(renderer.fragments(build(reader.read(), history, "/x"), now_ms()))
    sent = {key for key in feed.since(version).html if key.startswith(("tasks:", "values:"))}
    assert sent == {"values:task_1", "values:task_2", "tasks:task_2"}


def test_a_page_tells_the_times_of_old_rows_as_of_now() -> None:
    bus, renderer = bus_of(1), Renderer()
    bus.commit("task_0", 1, offset=4, age_s=0.0)
    view = build(SnapshotReader(bus.session(), bus.layout).read(), SnapshotHistory(), "/x")
    began = now_ms()
    renderer.fragments(view, began)
    values: dict[str, Any] = {
        "version": "v",
        "root": "/x",
        "user": "",
        "csrf": "",
        "navigation": (),
        "current": "/",
        "task": None,
    }
    values["table"] = table(view.tasks, "", "", 1, began)
    page = renderer.page("overview", renderer.fragments(view, began + 600_000), began + 600_000, **values)
    times = re.findall(r'<time data-ms="(\d+)" title="[^"]*">([^<]*)</time>', page.partition('data-list="machines"')[0])
    assert times and {text for ms, text in times if int(ms) > began - 5000} == {"10 min"}
