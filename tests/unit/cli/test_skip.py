"""`replicator task skip`: only what failed, after it was shown, and with the task's name typed."""

from __future__ import annotations

import pytest

from replicator.coordination.records import CommitRecord, dump
from replicator.coordination.tasks.commands import Commands
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position
from tests.support.api import TASK, World
from tests.unit.cli.conftest import Cli

NAME = "copy_hot_item"
A = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
ERROR = {
    "code": "E2307",
    "what": "a value",
    "position": "binlog.000003:500 (WRITE_ROWS_EVENT)",
    "table": "shop.item",
    "transaction": f"{A}:101",
}


@pytest.fixture
def failed(world: World) -> World:
    world.http.post("/tasks", content=TASK)
    commit = CommitRecord(epoch=7, checkpoint=Checkpoint(Position("binlog.000003", 400, f"{A}:1-100", rows=3)))
    world.bus.coordinator.create(world.bus.layout.last_commit(NAME), dump(commit))
    world.core("host-a").stand(NAME, "failed", error=ERROR)
    return world


def ordered(world: World) -> list[str]:
    pending = Commands(world.bus.coordinator, world.bus.layout).pending(NAME)
    return [entry.record.verb for entry in pending if entry.record is not None]


def test_the_preview_says_what_is_lost(cli: Cli, failed: World) -> None:
    result = cli("task", "skip", NAME, "--dry-run")
    assert result.exit_code == 0, result.stderr
    for shown in ("E2307 a value", "binlog.000003:500 (WRITE_ROWS_EVENT)", "shop.item", "3 rows", f"{A}:101"):
        assert shown in result.stdout
    assert ordered(failed) == []


def test_the_name_is_typed(cli: Cli, failed: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli("task", "skip", NAME).exit_code == 2, "nobody can be asked"
    monkeypatch.setattr("replicator.cli.task.ask.interactive", lambda: True)
    assert cli("task", "skip", NAME, "--no-input").exit_code == 2
    assert cli("task", "skip", NAME, input="y\n").exit_code == 2
    assert ordered(failed) == []
    result = cli("task", "skip", NAME, input=f"{NAME}\n")
    assert (result.exit_code, ordered(failed)) == (0, ["skip"])
    assert f"{A}:101" in result.stdout


def test_scripts_name_the_transaction_and_it_must_be_that_of_the_error(cli: Cli, failed: World) -> None:
    assert cli("task", "skip", NAME, "-y").exit_code == 2
    result = cli("task", "skip", NAME, "-y", "--transaction", f"{A}:102")
    assert result.exit_code == 4 and "E5016" in result.stderr and f"{A}:101" in result.stderr
    assert ordered(failed) == []
    assert cli("task", "skip", NAME, "-y", "--transaction", f"{A}:101").exit_code == 0
    assert ordered(failed) == ["skip"]
