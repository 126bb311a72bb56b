"""The routes of checks, and the commands that use them."""

from __future__ import annotations

from typing import Any

import pytest

from replicator.coordination.tasks.checks import VERB, TaskCheckResults
from replicator.coordination.tasks.commands import Commands
from replicator.model.finding import Finding
from replicator.model.task_check import TaskCheck
from tests.support.api import TASK, World
from tests.unit.server.test_tasks import NAME, code

FINDINGS = (
    Finding.ok("source.reachable", "it answers"),
    Finding("source.sync_binlog", "warn", "0", "1", "SET GLOBAL sync_binlog = 1;"),
    Finding("source.binlog_format", "fail", "STATEMENT", "ROW", "SET GLOBAL binlog_format = 'ROW';"),
)


def checked(world: World, core: Any, order: str = "", uid: str = "") -> None:
    uid = uid or world.http.get(f"/tasks/{NAME}").json()["uid"]
    field = world.bus.coordinator.children(world.bus.layout.election(NAME))
    result = TaskCheck(
        uid=uid, version=0, host="core-a", began_ms=1, ended_ms=1_790_000_000_000, order=order, by="ann",
        findings=FINDINGS,
    )  # fmt: skip
    assert TaskCheckResults(core.coordinator, world.bus.layout).write(NAME, field[0], result)


@pytest.fixture
def made(world: World) -> World:
    world.http.post("/tasks", content=TASK)
    return world


def test_the_result_is_that_of_the_present_task(made: World) -> None:
    path = f"/tasks/{NAME}/check"
    assert made.http.get(path).json()["checked"] is False
    core = made.core("core-a").stand(NAME, "running")
    checked(made, core)
    found = made.http.get(path).json()
    assert (found["kind"], found["result"], found["host"], len(found["findings"])) == ("TaskCheck", "fail", "core-a", 3)
    assert found["worst"]["id"] == "source.binlog_format" and found["by"] == "ann"
    checked(made, core, uid="of another incarnation")
    assert made.http.get(path).json()["checked"] is False
    assert code(made.http.get("/tasks/nobody/check")) == (404, "E5003")


def test_an_order_is_a_command(made: World) -> None:
    path = f"/tasks/{NAME}/check"
    refused = made.http.post(path)
    assert code(refused) == (409, "E5007") and "no Core takes part" in refused.text
    made.core("core-a").stand(NAME, "failed")
    answer = made.http.post(path)
    assert answer.status_code == 202 and answer.json()["verb"] == "check"
    (pending,) = Commands(made.bus.coordinator, made.bus.layout).pending(NAME)
    assert pending.record is not None
    assert (pending.record.verb, pending.record.id) == (VERB, answer.json()["id"])
    assert code(made.http.post(path, json={"to": "x"}))[0] == 422
    assert code(made.http.post("/tasks/nobody/check")) == (404, "E5003")
