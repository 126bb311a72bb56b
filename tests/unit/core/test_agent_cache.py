"""What a Core keeps of the tasks' znodes stays right, also when ZooKeeper forgets a watch."""

from __future__ import annotations

from replicator.coordination.in_memory.coordinator import MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.coordination.tasks.registry import Registry
from replicator.coordination.tasks.status import Status
from tests.support.agents import RunningAgent
from tests.support.waiting import eventually


def test_a_change_that_no_watch_reported_is_found() -> None:
    ensemble, layout = MemoryEnsemble(), Layout()
    registry = Registry(ensemble.session(), layout)
    registry.create("mine", {"name": "mine"}, "test")
    coordinator = ensemble.session(timeout=2.0)
    core = RunningAgent(coordinator, layout, "host-a", ("mine",)).up()
    try:
        eventually(lambda: core.launcher.of("mine"))
        with ensemble.lock:
            ensemble.drop_watches(coordinator.session_id)
            Status(ensemble.session(), layout).set("mine", "paused", "test", "")
        eventually(lambda: core.launcher.of("mine") is None, 20)
    finally:
        core.stop()


def test_many_tasks_are_taken_over_at_once() -> None:
    ensemble, layout = MemoryEnsemble(), Layout()
    registry = Registry(ensemble.session(), layout)
    names = tuple(f"task_{number}" for number in range(40))
    for name in names:
        registry.create(name, {"name": name}, "test")
    sessions = [ensemble.session(timeout=2.0) for _ in range(2)]
    first = RunningAgent(sessions[0], layout, "host-a", names).up()
    eventually(lambda: all(first.launcher.of(name) for name in names), 20)
    second = RunningAgent(sessions[1], layout, "host-b", names).up()
    try:
        eventually(lambda: all(len(ensemble.session().children(layout.election(name))) == 2 for name in names), 20)
        first.stop()
        eventually(lambda: all(second.launcher.of(name) for name in names), 20)
        assert len(second.launcher.workers) == len(names), "each once"
    finally:
        second.stop()
