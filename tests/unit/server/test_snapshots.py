"""Snapshots that operators order: nothing is half-applied, and the history says who."""

from __future__ import annotations

from typing import Any

import pytest

from replicator.coordination.records import CommitRecord, dump
from replicator.coordination.tasks.orders import OrdersStore
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position
from replicator.model.quarantine import Quarantined
from replicator.model.snapshot import SnapshotProgress
from replicator.model.snapshot_orders import SnapshotOrders
from tests.support.api import TASK, World

NAME = "copy_hot_item"
HERE = Position("binlog.000003", 400)


@pytest.fixture
def begun(world: World) -> World:
    """It has delivered something, and knows a table."""
    world.http.post("/tasks", content=TASK)
    mark = Quarantined("shop.ill", HERE, None, 5)
    reached(world, Checkpoint(HERE, quarantined=(mark,)))
    for table in ("item", "ill"):
        statement = f"CREATE TABLE shop.{table} (id INT PRIMARY KEY)"
        world.http.post(f"/tasks/{NAME}/schema", json={"statement": statement})
    return world


def reached(made: World, checkpoint: Checkpoint) -> None:
    path, data = made.bus.layout.last_commit(NAME), dump(CommitRecord(epoch=7, checkpoint=checkpoint))
    if made.bus.coordinator.exists(path) is None:
        made.bus.coordinator.create(path, data)
    else:
        made.bus.coordinator.set(path, data)


def orders(made: World) -> SnapshotOrders:
    return OrdersStore(made.bus.coordinator, made.bus.layout).read(NAME).orders.snapshots


def said(made: World, verb: str = "", **body: Any) -> tuple[int, Any]:
    answer = made.http.post(f"/tasks/{NAME}/snapshot{verb}", json=body or None)
    return answer.status_code, answer.json()


def test_start_pause_resume_stop(begun: World) -> None:
    status, task = said(begun, tables=["shop.item"], where="id > 5", chunk_rows=10)
    assert status == 200
    (request,) = task["snapshot_requests"]
    assert (request["number"], request["tables"], request["where"]) == (1, ["shop.item"], "id > 5")
    reached(begun, Checkpoint(Position("binlog.000003", 400, snapshot=SnapshotProgress("order-1", 5)), time_ms=9))
    assert said(begun, "/pause")[1]["snapshot"]["state"] == "paused" and orders(begun).paused
    said(begun, "/pause")
    assert said(begun, "/resume")[1]["snapshot"]["state"] == "running" and not orders(begun).paused
    assert said(begun, tables=["shop.item"])[1]["snapshot_requests"][-1]["number"] == 2
    assert said(begun, "/stop")[1]["snapshot_requests"] == [] and orders(begun).stopped == 3
    events = [
        event for event in begun.http.get(f"/tasks/{NAME}/history").json()["items"] if event["event"] == "snapshot"
    ]
    told = ["order-1: shop.item where id > 5", "pause", "resume", "order-2: shop.item", "stop"]
    assert [event["reason"] for event in sorted(events, key=lambda event: event["number"])] == told
    assert all(event["by"].startswith("token:server@") for event in events)


@pytest.mark.parametrize(
    ("status", "code", "body"),
    [
        (422, "E1003", {"tables": []}),
        (422, "E1003", {"tables": ["shop.*"]}),
        (422, "E1003", {"tables": ["shop.item", "other.item"]}),
        (422, "E2205", {"tables": ["shop.item", "shop.Item"]}),
        (409, "E5007", {"tables": ["shop.item", "shop.ill"]}),
        (422, "E1003", {"tables": ["shop.item"], "where": ""}),
        (422, "E1003", {"tables": ["shop.item"], "where": "id > 5; SELECT 1"}),
        (422, "E1003", {"tables": ["shop.item"], "chunk_rows": "7"}),
        (422, "E1003", {"tables": ["shop.item"], "strange": 1}),
        (422, "E1003", {"tables": "shop.item"}),
    ],
)
def test_what_is_refused_orders_nothing(begun: World, status: int, code: str, body: dict[str, Any]) -> None:
    answered, answer = said(begun, **body)
    assert (answered, answer["error"]["code"]) == (status, code)
    assert orders(begun) == SnapshotOrders()


@pytest.mark.parametrize("verb", ["pause", "resume", "stop"])
def test_there_must_be_one(begun: World, verb: str) -> None:
    status, answer = said(begun, f"/{verb}")
    assert (status, answer["error"]["code"]) == (409, "E5007")
    assert f"no snapshot to {verb}" in answer["error"]["what"] and orders(begun) == SnapshotOrders()


def test_quarantine_leaves_snapshots_alone(begun: World) -> None:
    said(begun, tables=["shop.item"])
    before = orders(begun)
    begun.http.post(f"/tasks/{NAME}/quarantine", json={"table": "shop.item"})
    begun.http.post(f"/tasks/{NAME}/quarantine", json={"table": "shop.item", "release": "true"})
    assert orders(begun) == before and before.requests


def test_a_fork_begins_without_a_snapshot(begun: World) -> None:
    config = begun.http.get(f"/tasks/{NAME}").json()
    config["config"]["source"]["snapshot"] = "initial"
    begun.http.put(f"/tasks/{NAME}", json=config["config"], headers={"if-match": "*"})
    assert begun.http.post(f"/tasks/{NAME}/fork", json={"name": "fork"}).status_code == 201
    assert begun.http.get("/tasks/fork").json()["config"]["source"]["snapshot"] == "never"
