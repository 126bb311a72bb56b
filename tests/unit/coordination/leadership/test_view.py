"""What one reading says of a task: hand-overs, who could take over, whether it had a position, its incarnation."""

from __future__ import annotations

import pytest

from replicator.coordination.in_memory.coordinator import MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.coordination.leadership import view
from replicator.coordination.leadership.view import HOUR_MS, TaskView, ViewReader
from replicator.coordination.machines.machines import Machines
from replicator.coordination.records import (
    CommitRecord,
    HistoryRecord,
    MachineRecord,
    PositionHistoryRecord,
    TaskFigures,
    dump,
)
from replicator.coordination.tasks.history import History
from replicator.coordination.tasks.registry import Registry
from replicator.coordination.watches import Watches
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position

NOW_MS = 1_795_000_000_000


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([], 0),
        ([("gave up", 0)], 1),
        ([("gave up", HOUR_MS - 1)], 1),
        ([("gave up", HOUR_MS)], 0),
        ([("gave up", HOUR_MS + 1), ("gave up", 30_000)], 1),
        ([("switchover", 1000), ("released", 1000), ("lost", 1000)], 0),
        ([("gave up", 7 * HOUR_MS), ("gave up", 600_000), ("running", 590_000), ("gave up", 10_000)], 2),
    ],
)
def test_gave_up_counts_the_last_hour(
    entries: list[tuple[str, int]], expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """entries: what happened, and how many ms ago."""
    monkeypatch.setattr(view, "now_ms", lambda: NOW_MS)
    coordinator, layout = MemoryEnsemble().session(), Layout()
    Registry(coordinator, layout).create("copy", {"name": "copy"}, "test")
    for kind, ago in entries:
        History(coordinator, layout).append("copy", HistoryRecord(kind=kind, time_ms=NOW_MS - ago))
    reader = ViewReader(coordinator, layout, "copy", lambda config: config)
    assert reader.read("a" * 32, Watches(lambda: None), True, False, "sink").gave_up == expected
    assert reader.read("a" * 32, Watches(lambda: None), True, False).gave_up == 0, "read where nothing is stuck"


@pytest.mark.parametrize(
    ("left", "expected"),
    [
        ([], False),
        (["trail"], True),
        (["running"], True),
        (["position"], True),
        (["lost", "failed"], False),
        (["trail", "lastCommit"], False),
    ],
)
def test_whether_a_task_without_a_last_commit_has_had_one(left: list[str], expected: bool) -> None:
    coordinator, layout = MemoryEnsemble().session(), Layout()
    Registry(coordinator, layout).create("copy", {"name": "copy"}, "test")
    known = Checkpoint(Position("binlog.000001", 400))
    for what in left:
        match what:
            case "trail":
                coordinator.create(layout.position_history("copy"))
                coordinator.create(layout.position_history_hour("copy", 1), dump(PositionHistoryRecord(points=[known])))
            case "lastCommit":
                coordinator.create(layout.last_commit("copy"), dump(CommitRecord(epoch=1, checkpoint=known)))
            case kind:
                History(coordinator, layout).append("copy", HistoryRecord(kind=kind, time_ms=NOW_MS))
    reader = ViewReader(coordinator, layout, "copy", lambda config: config)
    assert reader.read("a" * 32, Watches(lambda: None), True, False).delivered is expected


@pytest.mark.parametrize(
    ("stuck", "expected"), [("source", "bde"), ("sink", "cd"), ("registry", "d"), ("host", "d"), ("", "")]
)
def test_who_may_take_over(stuck: str, expected: str) -> None:
    """b reaches the source alone, c the sink alone, d all; e all but the sink."""
    coordinator, layout = MemoryEnsemble().session(), Layout()
    Registry(coordinator, layout).create("copy", {"name": "copy"}, "test")
    reach = {
        "b": {"source": True, "sink": False},
        "c": {"source": False, "sink": True},
        "d": {"source": True, "sink": True, "registry": True},
        "e": {"source": True, "sink": False, "registry": True},
    }
    for host, reached in reach.items():
        figures = TaskFigures(state="standby", guid=host * 32, reach=reached)
        machine = MachineRecord(host=host, pid=1, process=host, started_ms=1, time_ms=1, tasks={"copy": figures})
        Machines(coordinator, layout).publish(host, machine)
    seen = ViewReader(coordinator, layout, "copy", lambda config: config).read(
        "a" * 32, Watches(lambda: None), True, False, stuck
    )
    assert seen.reaching == {letter * 32 for letter in expected}


def test_the_incarnation_is_known_while_the_tasks_node_is_damaged() -> None:
    coordinator, layout = MemoryEnsemble().session(), Layout()
    Registry(coordinator, layout).create("copy", {"name": "copy"}, "test")
    reader = ViewReader(coordinator, layout, "copy", lambda config: config)

    def read() -> TaskView:
        return reader.read("a" * 32, Watches(lambda: None), True, False)

    uid = read().incarnation
    assert uid and read().uid == uid, "before there is any position"
    coordinator.set(layout.task("copy"), b"{")
    assert (read().uid, read().incarnation) == ("", ""), "nobody knows"
    commit = CommitRecord(epoch=1, checkpoint=Checkpoint(Position("binlog.000001", 400)), uid=uid)
    coordinator.create(layout.last_commit("copy"), dump(commit))
    damaged = read()
    assert damaged.config_error is not None and damaged.uid == ""
    assert damaged.incarnation == uid
    Registry(coordinator, layout).configure("copy", {"name": "copy"}, "test", damaged.config_version)
    assert (read().uid, read().incarnation) == (uid, uid), "the next configuration does not make another task of it"
