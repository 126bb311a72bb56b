"""The position history over the memory coordinator, its hours passing as fast as the checkpoints say."""

from __future__ import annotations

import pytest

from replicator.coordination.in_memory.coordinator import MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.coordination.tasks.position_history import HOUR_MS, MINUTE_MS, MOST_BYTES, PositionHistory
from replicator.coordination.tasks.registry import Registry
from replicator.errors import NodeMissing
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position

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
