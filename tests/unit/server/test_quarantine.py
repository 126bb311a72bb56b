"""Quarantine and replay over the API, in memory."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from replicator.coordination.records import CommitRecord, dump
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position
from replicator.model.quarantine import Quarantined
from tests.support.api import TASK, World

NAME = "copy_hot_item"
A = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
SINCE, UNTIL = Position("binlog.000003", 400, f"{A}:1-100"), Position("binlog.000004", 900, f"{A}:1-300")
LASTING = Quarantined("shop.item", SINCE, None, 5)


@pytest.fixture
def made(world: World) -> World:
    world.http.post("/tasks", content=TASK)
    return world


def reached(made: World, *marks: Quarantined) -> None:
    commit = CommitRecord(epoch=7, checkpoint=Checkpoint(UNTIL, quarantined=marks))
    made.bus.coordinator.create(made.bus.layout.last_commit(NAME), dump(commit))


def said(made: World, verb: str, **body: str) -> tuple[int, Any]:
    answer = made.http.post(f"/tasks/{NAME}/{verb}", json=body)
    return answer.status_code, answer.json()


def test_it_is_a_change_of_the_configuration_once(made: World) -> None:
    status, task = said(made, "quarantine", table="shop.item")
    assert (status, task["config"]["source"]["quarantine"]) == (200, ["shop.item"])
    assert said(made, "quarantine", table="shop.item")[1]["version"] == task["version"]
    assert said(made, "quarantine", table="shop.item", release="true")[1]["config"]["source"]["quarantine"] == []


@pytest.mark.parametrize("table", ["", "item", "shop.*", "!shop.item", "shop."])
def test_one_table_is_named_in_full(made: World, table: str) -> None:
    status, answer = said(made, "quarantine", table=table)
    assert (status, answer["error"]["code"]) == (422, "E1003")


def test_where_it_stopped_is_shown(made: World) -> None:
    reached(made, LASTING)
    (shown,) = made.http.get(f"/tasks/{NAME}").json()["quarantined"]
    assert shown == {
        "table": "shop.item",
        "since": "binlog.000003:400",
        "since_gtid": f"{A}:1-100",
        "until": "",
        "until_gtid": "",
        "time_ms": 5,
        "error": None,
        "replayed": False,
    }


def test_a_replay_has_the_table_alone_from_where_it_stopped_to_its_release(made: World) -> None:
    reached(
        made,
        Quarantined("shop.item", Position("binlog.000001", 4), SINCE),
        msgspec.structs.replace(LASTING, until=UNTIL),
    )
    status, task = said(made, "replay", table="shop.item")
    assert (status, task["name"]) == (201, f"{NAME}.replay-shop.item")
    source, sink = task["config"]["source"], task["config"]["sink"]
    assert source["tables"] == ["shop.item"]
    assert source["start"] == {"gtid": f"{A}:1-100"}
    assert source["until"] == {"file": "binlog.000004", "position": 900}
    assert sink["topic"] == NAME + ".{database}.{table}"
    assert sink["debezium"]["topic_prefix"] == NAME
    assert sink["dead_letter_topic"] == NAME + ".dead_letter"


def test_a_table_in_quarantine_is_replayed_by_the_task_itself(made: World) -> None:
    said(made, "quarantine", table="shop.item")
    reached(made, LASTING)
    status, task = said(made, "replay", table="shop.item")
    assert (status, task["name"]) == (200, NAME)
    assert (task["config"]["source"]["quarantine"], task["config"]["source"]["replay"]) == ([], {"shop.item": 5})


def test_one_that_an_error_put_there_is_released_for_that_time(made: World) -> None:
    reached(made, msgspec.structs.replace(LASTING, error={"code": "E2304", "what": "rows lack columns"}))
    (shown,) = made.http.get(f"/tasks/{NAME}").json()["quarantined"]
    assert shown["error"]["code"] == "E2304"
    assert said(made, "quarantine", table="shop.item", release="true")[1]["config"]["source"]["mended"] == {
        "shop.item": 5
    }


def test_nothing_to_replay(made: World) -> None:
    reached(made, msgspec.structs.replace(LASTING, until=UNTIL, replayed=True))
    status, answer = said(made, "replay", table="shop.item")
    assert (status, answer["error"]["code"]) == (409, "E5007")
    assert "has been delivered" in answer["error"]["found"]
    assert said(made, "replay", table="shop.other")[1]["error"]["found"] == "it was not in quarantine"
