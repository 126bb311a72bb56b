"""What a task knows of tables, over the API, in memory."""

from __future__ import annotations

import httpx
import pytest

from replicator.coordination.records import CommitRecord, dump
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position
from tests.support.api import TASK, World

NAME = "copy_hot_item"
PATH = f"/tasks/{NAME}/schema"
CREATE = "CREATE TABLE shop.item (sku VARCHAR(20), id INT PRIMARY KEY)"


@pytest.fixture
def made(world: World) -> World:
    world.http.post("/tasks", content=TASK)
    record = CommitRecord(epoch=7, checkpoint=Checkpoint(Position("binlog.000003", 400)), released=True)
    world.bus.coordinator.create(world.bus.layout.last_commit(NAME), dump(record))
    return world


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def test_nothing_is_known_of_a_task_that_never_ran(made: World) -> None:
    assert made.http.get(PATH).json() == {"apiVersion": "v1", "kind": "Schema", "name": NAME, "items": []}


def test_a_table_is_told_and_kept(made: World) -> None:
    table = {"database": "shop", "name": "item", "columns": ["sku", "id"], "primary_key": ["id"]}
    assert made.http.post(PATH, json={"statement": CREATE, "reason": "FLIP"}).json()["items"] == [table]
    assert made.http.get(PATH).json()["items"] == [table]
    last = made.http.get(f"/tasks/{NAME}/history").json()["items"][-1]
    assert (last["event"], last["position"], last["reason"]) == ("schema", "binlog.000003:400", f"FLIP: {CREATE}")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"statement": "DROP TABLE shop.item"}, (422, "E5014")),
        ({"statement": "CREATE TABLE item (id INT)"}, (422, "E5014")),
        ({"statement": " "}, (422, "E1003")),
        ({}, (422, "E1003")),
        ({"statement": CREATE, "table": "x"}, (422, "E1002")),
    ],
)
def test_what_can_t_be_taken(made: World, body: dict[str, str], expected: tuple[int, str]) -> None:
    assert code(made.http.post(PATH, json=body)) == expected
    assert made.http.get(PATH).json()["items"] == []


def test_not_while_it_runs(made: World) -> None:
    core = made.core("host-a").stand(NAME, "running")
    answer = made.http.post(PATH, json={"statement": CREATE})
    assert code(answer) == (409, "E5007")
    assert answer.json()["error"]["fix"] == f"`replicator task pause {NAME}` first."
    core.leave(NAME)
    made.core("host-b").stand(NAME, "paused")
    assert made.http.post(PATH, json={"statement": CREATE}).status_code == 200


def test_not_before_the_first_position_and_of_no_task(world: World) -> None:
    world.http.post("/tasks", content=TASK)
    assert code(world.http.post(PATH, json={"statement": CREATE})) == (409, "E5007")
    assert code(world.http.get("/tasks/nobody/schema")) == (404, "E5003")
