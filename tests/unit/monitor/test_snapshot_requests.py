"""What a snapshot asks of ZooKeeper: what has changed, whatever the number of tasks."""

from __future__ import annotations

import pytest

from monitor.snapshot_reader import CHECKED, SnapshotReader
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
