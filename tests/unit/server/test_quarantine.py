"""Quarantine and replay over the API, in memory."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from replicator.config.load import parse_task
from replicator.coordination.records import CommitRecord, dump
from replicator.coordination.tasks.orders import OrdersStore
from replicator.coordination.tasks.registry import Registry
from replicator.errors import ConfigError, VersionConflict
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position
from replicator.model.quarantine import Quarantined, TaskOrders
from server.task_operations import TaskOperations
from tests.support.api import TASK, World

NAME = "copy_hot_item"
A = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
SINCE, UNTIL = Position("binlog.000003", 400, f"{A}:1-100"), Position("binlog.000004", 900, f"{A}:1-300")
LASTING = Quarantined("shop.item", SINCE, None, 5)


@pytest.fixture
def made(world: World) -> World:
    world.http.post("/tasks", content=TASK)
    return world


@pytest.fixture
def begun(made: World) -> World:
    """It has delivered something, and knows a table."""
    reached(made)
    made.http.post(f"/tasks/{NAME}/schema", json={"statement": "CREATE TABLE shop.item (id INT PRIMARY KEY)"})
    return made


def orders(made: World, name: str = NAME) -> TaskOrders:
    return OrdersStore(made.bus.coordinator, made.bus.layout).read(name).orders


def reached(made: World, *marks: Quarantined) -> None:
    commit = CommitRecord(epoch=7, checkpoint=Checkpoint(UNTIL, quarantined=marks))
    made.bus.coordinator.create(made.bus.layout.last_commit(NAME), dump(commit))


def said(made: World, verb: str, **body: str) -> tuple[int, Any]:
    answer = made.http.post(f"/tasks/{NAME}/{verb}", json=body)
    return answer.status_code, answer.json()


def test_it_is_no_part_of_the_configuration(begun: World) -> None:
    before = begun.http.get(f"/tasks/{NAME}").json()
    status, task = said(begun, "quarantine", table="shop.item")
    assert (status, task["version"], task["config"]) == (200, before["version"], before["config"])
    assert list(orders(begun).tables) == ["shop.item"]
    (shown,) = task["quarantined"]
    assert (shown["table"], shown["since"], shown["error"]) == ("shop.item", "", None), "not taken up yet"
    said(begun, "quarantine", table="shop.item")
    happened = [item for item in begun.http.get(f"/tasks/{NAME}/history").json()["items"] if item["reason"]]
    assert [(item["event"], item["reason"]) for item in happened[1:]] == [("quarantine", "shop.item")]
    assert said(begun, "quarantine", table="shop.item", release="true")[1]["quarantined"] == []
    assert orders(begun).tables == {} and "shop.item" in orders(begun).mended


def test_81_a_configuration_that_is_applied_again_releases_nothing(begun: World) -> None:
    said(begun, "quarantine", table="shop.item")
    before = orders(begun)
    for text in (TASK, TASK.replace("3306", "3307"), TASK):
        assert begun.http.put(f"/tasks/{NAME}", content=text).status_code == 200
    assert orders(begun) == before


@pytest.mark.parametrize("key", ["quarantine: [shop.item]", "quarantine: []", "mended: {}", "replay: {shop.item: 5}"])
def test_81_a_configuration_with_such_orders_is_refused_and_says_which_command_there_is(made: World, key: str) -> None:
    answer = made.http.put(f"/tasks/{NAME}", content=TASK.replace("  port: 3306", f"  port: 3306\n  {key}"))
    assert answer.status_code == 422
    error = answer.json()["error"]
    assert error["code"] == "E1013" and "replicator task quarantine" in error["fix"] and "line 6" in error["found"]


def test_an_earlier_versions_configuration_is_read_or_refused(made: World) -> None:
    def stored(**state: object) -> list[dict[str, str]]:
        node = Registry(made.bus.coordinator, made.bus.layout).read(NAME)
        assert node.record.config is not None
        node.record.config["source"].update(state)
        path = made.bus.layout.task(NAME)
        made.bus.coordinator.set(path, dump(node.record), made.bus.coordinator.get(path).stat.version)
        answer = made.http.put(f"/tasks/{NAME}?dry_run=true", content=TASK)
        assert answer.status_code == 204
        return validate(Registry(made.bus.coordinator, made.bus.layout).read(NAME).record.config)

    def validate(config: object) -> list[dict[str, str]]:
        try:
            parse_task(config)
        except ConfigError as error:
            return [error.to_dict()]
        return []

    assert stored(quarantine=[], mended={}, replay={}) == []
    assert stored(quarantine=[], mended={"shop.item": 5}, replay={"shop.item": 7}) == []
    (error,) = stored(quarantine=["shop.item"])
    assert error["code"] == "E1013", "nobody knows whether it became a mark"
    assert made.http.put(f"/tasks/{NAME}", content=TASK).status_code == 200


@pytest.mark.parametrize(
    ("table", "expected"),
    [("shop.nothing", (422, "E2205")), ("shop.Item", (422, "E2205")), ("other.item", (422, "E1003"))],
)
def test_a_table_that_is_not_there_can_t_be_left_out(begun: World, table: str, expected: tuple[int, str]) -> None:
    status, answer = said(begun, "quarantine", table=table)
    assert (status, answer["error"]["code"]) == expected
    assert orders(begun) == TaskOrders()


def test_before_its_tables_are_read_nobody_knows(made: World) -> None:
    status, answer = said(made, "quarantine", table="shop.item")
    assert (status, answer["error"]["code"]) == (409, "E5007")


def test_the_table_that_it_failed_at_is_there(made: World) -> None:
    """Its definition may be what was not understood."""
    error = {"code": "E2309", "what": "a statement", "table": "shop.item"}
    made.core("host-a").stand(NAME, "failed", error=error)
    assert said(made, "quarantine", table="shop.item")[0] == 200


def test_one_that_is_in_no_quarantine_can_t_be_released(begun: World) -> None:
    status, answer = said(begun, "quarantine", table="shop.item", release="true")
    assert (status, answer["error"]["code"]) == (409, "E5007")


def test_of_two_orders_the_second_learns_it(begun: World) -> None:
    control = TaskOperations(begun.bus.coordinator, begun.bus.layout)
    before = control.orders(NAME)
    control.order(NAME, before, TaskOrders({"shop.item": 5}), "ann", "shop.item")
    with pytest.raises(VersionConflict):
        control.order(NAME, before, TaskOrders(), "bob", "shop.item: release")
    after = control.orders(NAME)
    control.order(NAME, after, TaskOrders(), "bob", "shop.item: release")
    with pytest.raises(VersionConflict):
        control.order(NAME, after, TaskOrders({"shop.item": 6}), "ann", "shop.item")


def test_a_task_that_is_deleted_takes_its_orders_with_it(begun: World) -> None:
    said(begun, "quarantine", table="shop.item")
    assert begun.http.delete(f"/tasks/{NAME}").status_code == 204
    begun.http.post("/tasks", content=TASK)
    assert orders(begun) == TaskOrders()


def test_a_fork_leaves_out_what_the_other_one_left_out_there(made: World) -> None:
    reached(made, LASTING, msgspec.structs.replace(LASTING, table="shop.back", until=UNTIL))
    answer = made.http.post(f"/tasks/{NAME}/fork", json={"name": "again"})
    assert answer.status_code == 201
    assert list(orders(made, "again").tables) == ["shop.item"]
    assert orders(made) == TaskOrders()


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
    assert source["until"] == {"file": "binlog.000004", "position": 900, "gtid": f"{A}:1-300"}
    assert sink["topic"] == NAME + ".{database}.{table}"
    assert sink["debezium"]["topic_prefix"] == NAME
    assert sink["dead_letter_topic"] == NAME + ".dead_letter"


@pytest.mark.parametrize("gtids", [True, False])
def test_a_replay_names_the_server_that_its_start_is_of(made: World, gtids: bool) -> None:
    """Without it another server at the address would be read from a place that means nothing there."""
    server = "server_uuid@1795404826"
    since = msgspec.structs.replace(SINCE, server=server, gtid=SINCE.gtid if gtids else "")
    until = msgspec.structs.replace(UNTIL, server=server, gtid=UNTIL.gtid if gtids else "")
    reached(made, Quarantined("shop.item", since, until, 5))
    source = said(made, "replay", table="shop.item")[1]["config"]["source"]
    place = {"file": "binlog.000003", "position": 400, "server": server}
    assert source["start"] == ({"gtid": f"{A}:1-100", "reached": place} if gtids else place)
    assert source["until"] == {"file": "binlog.000004", "position": 900, "gtid": until.gtid}


def test_a_table_in_quarantine_is_replayed_by_the_task_itself(made: World) -> None:
    reached(made, LASTING)
    assert made.http.post(f"/tasks/{NAME}/replay?dry_run=true", json={"table": "shop.item"}).status_code == 204
    assert orders(made) == TaskOrders()
    status, task = said(made, "replay", table="shop.item")
    assert (status, task["name"]) == (200, NAME)
    assert orders(made) == TaskOrders(replay={"shop.item": 5})


def test_one_that_an_error_put_there_is_released_for_that_time(made: World) -> None:
    reached(made, msgspec.structs.replace(LASTING, error={"code": "E2304", "what": "rows lack columns"}))
    (shown,) = made.http.get(f"/tasks/{NAME}").json()["quarantined"]
    assert shown["error"]["code"] == "E2304"
    said(made, "quarantine", table="shop.item", release="true")
    assert orders(made).mended == {"shop.item": 5}


def test_nothing_to_replay(made: World) -> None:
    reached(made, msgspec.structs.replace(LASTING, until=UNTIL, replayed=True))
    status, answer = said(made, "replay", table="shop.item")
    assert (status, answer["error"]["code"]) == (409, "E5007")
    assert "have been delivered" in answer["error"]["found"]
    assert said(made, "replay", table="shop.other")[1]["error"]["found"] == "it was not in quarantine"
