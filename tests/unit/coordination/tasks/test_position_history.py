"""The position history over the memory coordinator, its hours passing as fast as the checkpoints say."""

from __future__ import annotations

import pytest

from replicator.coordination.in_memory.coordinator import MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.coordination.leadership.progress import TermProgress
from replicator.coordination.ports import Coordinator, Op
from replicator.coordination.records import CommitRecord
from replicator.coordination.tasks.commits import Commit, Commits
from replicator.coordination.tasks.position_history import HOUR_MS, MINUTE_MS, MOST_BYTES, PositionHistory
from replicator.coordination.tasks.registry import Registry
from replicator.errors import NodeMissing
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position
from tests.support.counted import Counted
from tests.support.present import present

TASK = "copy"
BEGIN = 1_795_000_000_000 // HOUR_MS * HOUR_MS
OWN = "host-" + "a" * 32 + "-0000000001"


@pytest.fixture
def coordinator() -> Coordinator:
    session = MemoryEnsemble(lambda: 0.0).session()
    layout = Layout()
    Registry(session, layout).create(TASK, {"name": TASK}, "test")
    session.create(layout.contender(TASK, OWN))
    return session


@pytest.fixture
def history(coordinator: Coordinator) -> PositionHistory:
    return PositionHistory(coordinator, Layout())


def at(time_ms: int, gtid: str = "") -> Checkpoint:
    return Checkpoint(Position("binlog.000001", time_ms // 1000, gtid), time_ms=time_ms)


def test_one_point_a_minute(history: PositionHistory) -> None:
    added = [history.add(TASK, OWN, at(BEGIN + seconds * 1000)) for seconds in (0, 30, 59, 60, 119, 125)]
    assert added == [True, False, False, True, False, True]
    assert [(point.time_ms - BEGIN) // 1000 for point in history.read(TASK)] == [0, 60, 125]


def test_the_last_point_at_or_before_a_time(history: PositionHistory) -> None:
    for minute in (0, 5, 70):
        history.add(TASK, OWN, at(BEGIN + minute * MINUTE_MS))
    assert history.at(TASK, BEGIN - 1) is None
    assert history.at(TASK, BEGIN + 6 * MINUTE_MS) == at(BEGIN + 5 * MINUTE_MS)
    assert history.at(TASK, BEGIN + 70 * MINUTE_MS) == at(BEGIN + 70 * MINUTE_MS)


def test_minutes_for_a_day_hours_for_a_month(history: PositionHistory) -> None:
    for hour in range(24 * 40):
        for minute in (0, 20, 40):
            history.add(TASK, OWN, at(BEGIN + hour * HOUR_MS + minute * MINUTE_MS))
    points = history.read(TASK)
    newest = points[-1].time_ms
    ages = [(newest - point.time_ms) // HOUR_MS for point in points]
    assert sum(age < 23 for age in ages) == 3 * 23
    assert sum(age >= 26 for age in ages) <= 31 * 24
    assert max(ages) <= 31 * 24
    assert all((point.time_ms // MINUTE_MS) % 60 == 40 for point, age in zip(points, ages, strict=True) if age >= 25)


def test_only_who_stands_writes(history: PositionHistory, coordinator: Coordinator) -> None:
    coordinator.delete(Layout().contender(TASK, OWN))
    with pytest.raises(NodeMissing):
        history.add(TASK, OWN, at(BEGIN))
    assert history.read(TASK) == []


def test_long_gtid_sets_cost_points_not_the_node(history: PositionHistory, coordinator: Coordinator) -> None:
    gtid = ",".join(f"3e11fa47-71ca-11e1-9e33-c80aa94295{i % 90 + 10}:{i}-{i + 5}" for i in range(3000))
    for minute in range(6):
        history.add(TASK, OWN, at(BEGIN + minute * MINUTE_MS, gtid))
    points = history.read(TASK)
    assert points and points[-1].time_ms == BEGIN + 5 * MINUTE_MS
    assert len(coordinator.get(Layout().position_history_hour(TASK, BEGIN // HOUR_MS)).data) <= MOST_BYTES


def test_a_node_that_nobody_understands_is_no_point(history: PositionHistory, coordinator: Coordinator) -> None:
    history.add(TASK, OWN, at(BEGIN))
    coordinator.set(Layout().position_history_hour(TASK, BEGIN // HOUR_MS), b"{")
    assert history.read(TASK) == []


def test_a_checkpoint_and_its_point_are_one_write(coordinator: Coordinator, history: PositionHistory) -> None:
    """But at the beginning of an hour, and where the node is large."""
    layout, epoch = Layout(), present(coordinator.exists(Layout().contender(TASK, OWN))).czxid
    Commits(coordinator, layout).write(TASK, OWN, Commit(None), CommitRecord(epoch=epoch))
    counted = Counted(coordinator)
    pen = TermProgress(counted.port, layout, TASK, OWN, epoch, "uid", "host")
    writes = []
    for minute in range(4):
        pen.save(at(BEGIN + minute * MINUTE_MS))
        writes.append(counted.taken()["multi"])
    assert writes == [3, 1, 1, 1]
    pen.save(at(BEGIN + 3 * MINUTE_MS + 1000))
    pen.save(at(BEGIN + 4 * MINUTE_MS, "x" * 60_000))
    pen.save(at(BEGIN + 5 * MINUTE_MS, "x" * 60_000))
    assert counted.taken()["multi"] == 4
    minutes = [(point.time_ms - BEGIN) // MINUTE_MS for point in history.read(TASK)]
    assert minutes == [0, 1, 2, 3, 4, 5]


def test_a_point_that_another_wrote_does_not_hold_up_the_checkpoint(coordinator: Coordinator) -> None:
    layout, epoch = Layout(), present(coordinator.exists(Layout().contender(TASK, OWN))).czxid
    Commits(coordinator, layout).write(TASK, OWN, Commit(None), CommitRecord(epoch=epoch))
    pen = TermProgress(coordinator, layout, TASK, OWN, epoch, "uid", "host")
    pen.save(at(BEGIN))
    path = layout.position_history_hour(TASK, BEGIN // HOUR_MS)

    class Rival(PositionHistory):
        def next_point(self, task: str, checkpoint: Checkpoint) -> tuple[Op, ...]:
            made = super().next_point(task, checkpoint)
            coordinator.set(path, coordinator.get(path).data)
            return made

    pen._position_history = Rival(coordinator, layout)
    pen.save(at(BEGIN + MINUTE_MS))
    assert Commits(coordinator, layout).read(TASK).checkpoint == at(BEGIN + MINUTE_MS)
