"""`replicator task describe` of a task whose target is a database: how rows are applied, and conflicts."""

from __future__ import annotations

import json

from replicator.coordination.records import CommitRecord, dump
from replicator.model.checkpoint import Checkpoint
from replicator.model.conflicts import ConflictCount
from replicator.model.position import Position
from tests.support.api import TASK, World
from tests.unit.cli.conftest import Cli

NAME = "copy_hot_item"


def test_rows_that_are_written_by_sql_are_shown(cli: Cli, world: World) -> None:
    world.http.post("/tasks", content=TASK)
    assert "Applied:" not in cli("task", "describe", NAME).stdout
    commit = CommitRecord(epoch=7, checkpoint=Checkpoint(Position("binlog.000003", 4711), by_sql=True))
    world.bus.coordinator.create(world.bus.layout.last_commit(NAME), dump(commit))
    assert "Applied:     by SQL; `replicator check` shows" in cli("task", "describe", NAME).stdout


def test_conflicts_by_kind_and_row_images_are_shown(cli: Cli, world: World) -> None:
    sink = "  type: mysql\n  host: 127.0.0.2\n  user: applier\n  password: env:REPL_PASSWORD\n"
    assert world.http.post("/tasks", content=TASK[: TASK.index("  type: kafka")] + sink).status_code == 201
    assert "Applied:" not in cli("task", "describe", NAME).stdout  # no checkpoint yet
    counts = (ConflictCount("keep_target", "exists", 2), ConflictCount("source_wins", "missing", 3))
    checkpoint = Checkpoint(Position("binlog.000003", 4711), time_ms=5, conflicts=5, conflict_counts=counts)
    world.bus.coordinator.create(world.bus.layout.last_commit(NAME), dump(CommitRecord(epoch=7, checkpoint=checkpoint)))
    text = cli("task", "describe", NAME).stdout
    assert "Applied:     as row images (BINLOG)" in text
    assert (
        "Conflicts:   5: 2 exists (keep_target), 3 missing (source_wins); see replicator.replicator_conflicts" in text
    )
    shown = json.loads(cli("task", "describe", NAME, "-o", "json").stdout)["conflict_counts"]
    assert shown[0] == {"policy": "keep_target", "kind": "exists", "count": 2}
