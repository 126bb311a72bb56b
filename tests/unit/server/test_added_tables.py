"""A configuration that adds tables orders their snapshot in the same transaction."""

from __future__ import annotations

from typing import Any

from replicator.coordination.records import CommitRecord, dump
from replicator.coordination.tasks.orders import OrdersStore
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position
from replicator.model.snapshot import SnapshotProgress
from replicator.model.snapshot_orders import SnapshotOrders
from tests.support.api import TASK, World

NAME = "copy_hot_item"


def begun(world: World, snapshot: Any = "initial") -> dict[str, Any]:
    """Its configuration, once its initial snapshot is complete."""
    world.http.post("/tasks", content=TASK)
    config: dict[str, Any] = world.http.get(f"/tasks/{NAME}").json()["config"]
    config["source"]["snapshot"] = snapshot
    put(world, config)
    progress = SnapshotProgress("initial", 1, ended_ms=9)
    checkpoint = Checkpoint(Position("binlog.000003", 400, snapshot=progress))
    path, data = world.bus.layout.last_commit(NAME), dump(CommitRecord(epoch=7, checkpoint=checkpoint))
    world.bus.coordinator.create(path, data)
    return config


def put(world: World, config: dict[str, Any], query: str = "") -> Any:
    return world.http.put(f"/tasks/{NAME}{query}", json=config, headers={"if-match": "*"})


def orders(world: World) -> SnapshotOrders:
    return OrdersStore(world.bus.coordinator, world.bus.layout).read(NAME).orders.snapshots


def told(world: World) -> list[str]:
    events = world.http.get(f"/tasks/{NAME}/history").json()["items"]
    return [event["reason"] for event in events if event["event"] == "snapshot"]


def test_added_tables_are_ordered_and_told(world: World) -> None:
    config = begun(world)
    config["source"]["tables"].append("crm.*")
    assert put(world, config, "?dry_run=true").status_code == 204 and orders(world) == SnapshotOrders()
    task = put(world, config).json()
    (request,) = orders(world).requests
    assert (request.version, request.tables, request.known[0].tables) == (
        task["version"],
        ("crm.*",),
        ("shop.*", "crm.customer"),
    )
    (shown,) = task["snapshot_requests"]
    assert (shown["version"], shown["tables"]) == (task["version"], ["crm.*"]) and "known" not in shown
    assert told(world) == [f"order-1: tables added by version {task['version']}: crm.*"]
    config["max_batch_bytes"] = 1 << 20
    put(world, config)
    assert len(orders(world).requests) == 1, "what adds no table orders nothing"
    config["source"]["tables"].remove("crm.*")
    assert put(world, config).status_code == 200 and len(orders(world).requests) == 1


def test_nothing_is_ordered_where_rows_are_not_wanted(world: World) -> None:
    config = begun(world, {"mode": "initial", "new_tables": False})
    config["source"]["tables"].append("crm.*")
    put(world, config)
    assert orders(world) == SnapshotOrders() and told(world) == []


def test_never_withdraws_it(world: World) -> None:
    config = begun(world)
    config["source"]["tables"].append("crm.*")
    put(world, config)
    config["source"]["snapshot"] = "never"
    put(world, config)
    assert orders(world).requests == () and any("not wanted" in text for text in told(world))


def test_orders_that_change_meanwhile_refuse_the_configuration(world: World) -> None:
    """Both are written, or none."""
    config = begun(world)
    config["source"]["tables"].append("crm.*")
    before = world.http.get(f"/tasks/{NAME}").json()["version"]
    coordinator, path = world.bus.coordinator, world.bus.layout.orders(NAME)
    original = OrdersStore.change

    def change(self: OrdersStore, task: str, *rest: Any) -> Any:
        made = original(self, task, *rest)
        coordinator.create(path, b"{}")
        return made

    OrdersStore.change = change  # type: ignore[method-assign, assignment]
    try:
        answer = put(world, config)
    finally:
        OrdersStore.change = original  # type: ignore[method-assign]
    assert (answer.status_code, answer.json()["error"]["code"]) == (412, "E4006")
    assert world.http.get(f"/tasks/{NAME}").json()["version"] == before


def test_what_can_not_be_compared_is_told(world: World) -> None:
    config = begun(world)
    world.bus.coordinator.set(world.bus.layout.task(NAME), b"rubbish", -1)
    config["source"]["tables"].append("crm.*")
    assert put(world, config).status_code == 200
    assert orders(world) == SnapshotOrders() and "the former configuration can't be read" in told(world)[0]
