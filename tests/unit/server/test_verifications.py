"""Results of verifications: kept for the task that was verified, and for no other of its name."""

from __future__ import annotations

from typing import Any

import pytest

from replicator.coordination.tasks.verify_orders import VerifyOrders
from replicator.model.nightly import VerifyOrder
from tests.support.api import TASK, World

NAME = "copy_hot_item"


@pytest.fixture
def made(world: World) -> World:
    world.http.post("/tasks", content=TASK)
    return world


def body(made: World, **more: Any) -> dict[str, Any]:
    task = made.http.get(f"/tasks/{NAME}").json()
    table = {"table": "shop.item", "result": "differs", "time_ms": 7, "missing": 2}
    report = {"uid": task["uid"], "version": task["version"], "whole": True, "began_ms": 5, "ended_ms": 7}
    return {**report, "host": "h", "tables": [table], **more}


def put(made: World, report: Any) -> tuple[int, Any]:
    answer = made.http.put(f"/tasks/{NAME}/verification", json=report)
    return answer.status_code, answer.json()


def kept(made: World) -> Any:
    return made.http.get(f"/tasks/{NAME}").json()["verification"]


def test_a_report_is_kept_and_shown(made: World) -> None:
    assert kept(made) is None
    status, task = put(made, body(made))
    assert status == 200 and task["verification"] == kept(made)
    assert (kept(made)["result"], kept(made)["tables"][0]["missing"]) == ("differs", 2)
    assert kept(made)["by"].startswith("token:server@")
    put(made, body(made, ended_ms=9, tables=[{"table": "shop.item", "result": "equal", "time_ms": 9}]))
    assert (kept(made)["result"], kept(made)["equal_ms"]) == ("equal", 9)


def test_a_report_of_a_deleted_task_is_refused(made: World) -> None:
    report = body(made)
    put(made, report)
    made.http.delete(f"/tasks/{NAME}")
    assert put(made, report)[0] == 404
    made.http.post("/tasks", content=TASK)
    assert kept(made) is None
    status, answer = put(made, report)
    assert (status, answer["error"]["code"]) == (409, "E5040") and kept(made) is None
    path = made.bus.layout.verification(NAME)
    assert made.bus.coordinator.exists(path) is None


def test_a_result_of_another_incarnation_is_not_shown(made: World) -> None:
    put(made, body(made))
    path = made.bus.layout.verification(NAME)
    data = made.bus.coordinator.get(path).data
    made.http.delete(f"/tasks/{NAME}")
    made.http.post("/tasks", content=TASK)
    made.bus.coordinator.create(path, data)  # as a write that came late
    assert kept(made) is None
    assert put(made, body(made))[0] == 200 and kept(made)["result"] == "differs"


@pytest.mark.parametrize(
    "wrong",
    [
        {"version": 99},
        {"uid": "0"},
        {"tables": [{"table": "a"}]},
        {"tables": [{"table": "a", "result": "fine", "time_ms": 1}]},
        {"tables": [{"table": "a", "result": "equal", "time_ms": 1}] * 501},
        {"unknown": 1},
    ],
)
def test_wrong_reports_are_refused(made: World, wrong: dict[str, Any]) -> None:
    assert put(made, body(made, **wrong))[0] in (409, 422)
    assert kept(made) is None


def test_a_task_shows_its_nightly_verification(made: World) -> None:
    uid = made.http.get(f"/tasks/{NAME}").json()["uid"]
    orders = VerifyOrders(made.bus.coordinator, made.bus.layout)
    order = VerifyOrder(uid=uid, date="2026-11-26", stage="skipped", note="the task is paused")
    assert orders.write(NAME, order, -1)
    assert made.http.get(f"/tasks/{NAME}").json()["nightly"] is None, "it is not configured"
    answer = made.http.put(f"/tasks/{NAME}", content=f"{TASK}verify: {{nightly: true}}\n", headers={"If-Match": '"0"'})
    assert answer.status_code == 200, answer.text
    found = made.http.get(f"/tasks/{NAME}").json()["nightly"]
    assert (found["stage"], found["note"]) == ("skipped", "the task is paused")
