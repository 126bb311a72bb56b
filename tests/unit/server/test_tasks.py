"""Tasks over the API, in memory."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from replicator.coordination.ports import Connection
from replicator.coordination.records import StatusRecord, dump
from replicator.coordination.tasks.commands import Commands
from replicator.coordination.tasks.status import Status
from tests.support.api import TASK, World

NAME = "copy_hot_item"


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


@pytest.fixture
def made(world: World) -> World:
    assert world.http.post("/tasks", content=TASK, headers={"x-replicator-user": "ann"}).status_code == 201
    return world


def test_create_and_read_back(world: World) -> None:
    assert world.http.get("/tasks").json()["items"] == []
    answer = world.http.post("/tasks", content=TASK)
    assert answer.status_code == 201
    task = world.http.get(f"/tasks/{NAME}").json()
    assert task == answer.json()
    assert (task["apiVersion"], task["kind"], task["state"], task["version"]) == ("v1", "Task", "absent", 0)
    assert task["config"]["source"]["password"] == "env:REPL_PASSWORD"
    assert [item["name"] for item in world.http.get("/tasks").json()["items"]] == [NAME]


def test_json_is_accepted_as_well(made: World) -> None:
    config = made.http.get(f"/tasks/{NAME}").json()["config"]
    answer = made.http.post("/tasks", json={**config, "name": "other"})
    assert answer.status_code == 201


def test_a_second_task_of_the_name_is_refused(made: World) -> None:
    assert code(made.http.post("/tasks", content=TASK)) == (409, "E5004")
    assert code(made.http.post("/tasks?dry_run=true", content=TASK)) == (409, "E5004")


def test_every_problem_of_a_configuration_is_named(world: World) -> None:
    answer = world.http.post("/tasks", content=TASK.replace("port", "prot").replace("env:REPL_PASSWORD", "hunter2"))
    assert code(answer) == (422, "E1002")
    assert [error["code"] for error in answer.json()["errors"]] == ["E1002", "E1005"]
    assert "hunter2" not in answer.text
    assert code(world.http.post("/tasks", content="name: [")) == (400, "E1001")
    assert world.http.get("/tasks").json()["items"] == []


def test_of_two_writers_the_second_learns_it(made: World) -> None:
    first = made.http.put(f"/tasks/{NAME}", content=TASK.replace("3306", "3307"), headers={"if-match": '"0"'})
    assert (first.status_code, first.json()["version"], first.headers["etag"]) == (200, 1, '"1"')
    second = made.http.put(f"/tasks/{NAME}", content=TASK.replace("3306", "3308"), headers={"if-match": '"0"'})
    assert code(second) == (412, "E4006")
    assert code(made.http.put(f"/tasks/{NAME}?version=0", content=TASK)) == (409, "E4006")
    assert made.http.get(f"/tasks/{NAME}").json()["config"]["source"]["port"] == 3307
    assert code(made.http.put(f"/tasks/{NAME}", content=TASK, headers={"if-match": "x"})) == (422, "E1003")


def test_the_same_configuration_is_not_written_again(made: World) -> None:
    assert made.http.put(f"/tasks/{NAME}", content=TASK).json()["version"] == 0


@pytest.mark.parametrize(
    ("written", "meant"), [("name: copy_hot_item", "name: other"), ("type: mysql", "type: mariadb")]
)
def test_identity_can_not_change(made: World, written: str, meant: str) -> None:
    assert code(made.http.put(f"/tasks/{NAME}", content=TASK.replace(written, meant))) == (409, "E1009")


def test_a_dry_run_writes_nothing(made: World) -> None:
    answer = made.http.put(f"/tasks/{NAME}?dry_run=true", content=TASK.replace("3306", "3307"))
    assert answer.status_code == 204
    assert made.http.post("/tasks?dry_run=true", content=TASK.replace(NAME, "other")).status_code == 204
    tasks = made.http.get("/tasks").json()["items"]
    assert [(task["name"], task["version"]) for task in tasks] == [(NAME, 0)]


def test_a_damaged_znode_is_shown_and_can_be_mended(made: World) -> None:
    made.bus.coordinator.set(made.bus.layout.task(NAME), b"\xff garbage")
    task = made.http.get(f"/tasks/{NAME}").json()
    assert (task["config"], task["problems"][0]["code"]) == (None, "E4009")
    assert made.http.get("/tasks").status_code == 200
    mended = made.http.put(f"/tasks/{NAME}", content=TASK)
    assert mended.status_code == 200 and mended.json()["problems"] == []


def test_pause_and_resume(made: World) -> None:
    answer = made.http.post(
        f"/tasks/{NAME}/pause", json={"reason": "maintenance"}, headers={"x-replicator-user": "bob"}
    )
    assert answer.json()["desired"] == "paused"
    assert (answer.json()["desired_by"], answer.json()["desired_reason"]) == (
        "token:server@127.0.0.1 (says bob)",
        "maintenance",
    )
    made.http.post(f"/tasks/{NAME}/pause")
    assert made.http.post(f"/tasks/{NAME}/resume").json()["desired"] == "running"
    items = made.http.get(f"/tasks/{NAME}/history").json()["items"]
    assert [(item["event"], item["by"]) for item in items] == [
        ("created", "token:server@127.0.0.1 (says ann)"),
        ("pause", "token:server@127.0.0.1 (says bob)"),
        ("resume", "token:server@127.0.0.1"),
    ]
    assert len(made.http.get(f"/tasks/{NAME}/history?limit=1").json()["items"]) == 1
    assert code(made.http.post(f"/tasks/{NAME}/pause", json={"why": "x"})) == (422, "E1002")
    assert code(made.http.post(f"/tasks/{NAME}/pause", content=b"{")) == (400, "E1001")
    assert code(made.http.post(f"/tasks/{NAME}/pause", json={"reason": 1})) == (422, "E1003")


def test_state_comes_from_the_cores(made: World) -> None:
    made.core("host-a").stand(NAME, "running", position="binlog.000003:4711", lag_s=0.25, rows_per_s=12.0)
    made.core("host-b").stand(NAME, "standby")
    task = made.http.get(f"/tasks/{NAME}").json()
    assert (task["state"], task["host"], task["standbys"]) == ("running", "host-a", ["host-b"])
    assert (task["position"], task["lag_s"], task["rows_per_s"]) == ("binlog.000003:4711", 0.25, 12.0)
    assert task["epoch"] == task["instances"][0]["epoch"] > 0
    machines = made.http.get("/machines").json()["items"]
    assert [(machine["name"], machine["tasks"]) for machine in machines] == [
        ("host-a", {NAME: "running"}),
        ("host-b", {NAME: "standby"}),
    ]


def test_switchover_is_queued_for_a_healthy_standby(made: World) -> None:
    made.core("host-a").stand(NAME, "running")
    made.core("host-b").stand(NAME, "standby")
    third = made.core("host-c").stand(NAME, "standby")
    answer = made.http.post(f"/tasks/{NAME}/switchover", json={"to": "host-c"})
    assert (answer.status_code, answer.json()["to"]) == (202, "host-c")
    path = made.bus.layout.commands(NAME)
    (child,) = made.bus.coordinator.children(path)
    command = json.loads(made.bus.coordinator.get(f"{path}/{child}").data)
    assert (command["verb"], command["arguments"]) == ("switchover", {"to": third.guid, "host": "host-c"})
    assert made.http.post(f"/tasks/{NAME}/switchover").json()["to"] == "host-b"


def test_switchover_is_refused_with_the_reason(made: World) -> None:
    def refused(body: dict[str, str]) -> str:
        answer = made.http.post(f"/tasks/{NAME}/switchover", json=body)
        assert code(answer) == (409, "E5007")
        return answer.json()["error"]["what"]

    assert "is not running" in refused({})
    made.core("host-a").stand(NAME, "running")
    assert "has no healthy standby" in refused({})
    made.core("host-b").stand(NAME, "standby", online=False)
    assert "has no healthy standby" in refused({})
    assert "'host-b' is not a healthy standby" in refused({"to": "host-b"})
    assert "already runs on 'host-a'" in refused({"to": "host-a"})
    made.core("host-c").stand(NAME, "standby")
    made.http.post(f"/tasks/{NAME}/pause")
    assert "is not running" in refused({"to": "host-c"})
    assert made.bus.coordinator.children(made.bus.layout.commands(NAME)) == []


def test_retry_is_for_failed_tasks(made: World) -> None:
    core = made.core("host-a").stand(NAME, "running")
    assert code(made.http.post(f"/tasks/{NAME}/retry")) == (409, "E5007")
    core.stand(NAME, "failed", error={"code": "E2206", "what": "purged"})
    assert made.http.get(f"/tasks/{NAME}").json()["problems"][0]["code"] == "E2206"
    assert made.http.post(f"/tasks/{NAME}/retry").json()["verb"] == "retry"


def test_take_over_is_for_positions_of_unknown_terms(made: World) -> None:
    core = made.core("host-a").stand(NAME, "failed", error={"code": "E2206", "what": "purged"})
    retry = f"/tasks/{NAME}/retry"
    assert code(made.http.post(retry, json={"take_over": "true"})) == (409, "E5007")
    assert code(made.http.post(retry, json={"take_over": "yes"}))[1] == "E1003"
    core.stand(NAME, "failed", error={"code": "E3111", "what": "a term that ZooKeeper does not know"})
    assert made.http.post(retry, json={"take_over": "true"}).json()["verb"] == "retry"
    [command] = Commands(made.bus.coordinator, made.bus.layout).pending(NAME)
    assert command.record is not None and command.record.arguments == {"take_over": "true"}


def test_a_task_that_is_being_restored_is_not_resumed(made: World) -> None:
    half = StatusRecord(desired="paused", restoring=True, reason="restored from a backup")
    made.bus.coordinator.set(made.bus.layout.status(NAME), dump(half))
    assert code(made.http.post(f"/tasks/{NAME}/resume")) == (409, "E5105")


def test_delete_waits_for_the_cores_and_the_name_is_free_again(made: World) -> None:
    core = made.core("host-a").stand(NAME, "running")
    answer = made.http.delete(f"/tasks/{NAME}?wait=0.2")
    assert (answer.status_code, answer.json()["desired"]) == (202, "deleted")
    for refused in (
        made.http.post("/tasks", content=TASK),
        made.http.put(f"/tasks/{NAME}", content=TASK),
        made.http.post(f"/tasks/{NAME}/resume"),
        made.http.post(f"/tasks/{NAME}/switchover"),
    ):
        assert code(refused) == (409, "E5007")
    core.leave(NAME)
    assert made.http.delete(f"/tasks/{NAME}").status_code == 204
    assert code(made.http.get(f"/tasks/{NAME}")) == (404, "E5003")
    again = made.http.post("/tasks", content=TASK)
    assert again.status_code == 201 and again.json()["desired"] == "running"
    assert [item["event"] for item in made.http.get(f"/tasks/{NAME}/history").json()["items"]] == ["created"]


def test_what_is_not_there(world: World) -> None:
    for method, path in (
        ("GET", ""), ("PUT", ""), ("DELETE", ""), ("GET", "/history"), ("POST", "/pause"), ("POST", "/resume"),
        ("POST", "/switchover"), ("POST", "/retry"),
    ):  # fmt: skip
        content = TASK if method == "PUT" else None
        assert code(world.http.request(method, f"/tasks/{NAME}{path}", content=content)) == (404, "E5003"), path
    assert world.http.get("/tasks").json()["items"] == []


def test_names_are_escaped_as_their_znodes_are(world: World) -> None:
    for name, segment in (("a/b", "a%252Fb"), ("größe", "gr%25C3%25B6%25C3%259Fe"), ("x/pause", "x%252Fpause")):
        assert world.http.post("/tasks", content=TASK.replace("copy_hot_item", f"'{name}'")).status_code == 201
        assert world.http.get(f"/tasks/{segment}").json()["name"] == name
    assert code(world.http.get("/tasks/%25FF")) == (404, "E5003")


@pytest.mark.parametrize("state", [Connection.SUSPENDED, Connection.LOST])
def test_zookeeper_away_is_503(made: World, state: Connection) -> None:
    coordinator = made.bus.coordinator
    if state is Connection.SUSPENDED:
        coordinator.suspend()
    else:
        coordinator.close()
    for method, path, content in (
        ("GET", "/tasks", None), ("POST", "/tasks", TASK), ("PUT", f"/tasks/{NAME}", TASK),
        ("DELETE", f"/tasks/{NAME}", None), ("POST", f"/tasks/{NAME}/pause", None), ("GET", "/machines", None),
    ):  # fmt: skip
        answer = made.http.request(method, path, content=content)
        assert answer.status_code == 503 and answer.json()["error"]["code"].startswith("E400"), (path, answer.text)


def test_an_unreadable_status_does_not_lock_the_task(made: World) -> None:
    made.bus.coordinator.set(made.bus.layout.status(NAME), b"garbage")
    assert made.http.put(f"/tasks/{NAME}", content=TASK.replace("3306", "3307")).status_code == 200
    assert made.http.post(f"/tasks/{NAME}/pause").json()["desired"] == "paused"
    assert Status(made.bus.coordinator, made.bus.layout).read(NAME).desired == "paused"


def test_switchover_dry_run_names_the_host_and_orders_nothing(made: World) -> None:
    made.core("host-a").stand(NAME, "running")
    made.core("host-b").stand(NAME, "standby")
    answer = made.http.post(f"/tasks/{NAME}/switchover?dry_run=true")
    assert (answer.status_code, answer.json()["to"], answer.json()["id"]) == (202, "host-b", "")
    assert made.bus.coordinator.children(made.bus.layout.commands(NAME)) == []


def test_maintenance_of_one_and_of_all(made: World) -> None:
    made.core("host-a").stand(NAME, "running")
    made.core("host-b").stand(NAME, "standby")
    body = {"on": "true", "reason": "new disks"}
    assert made.http.post(f"/tasks/{NAME}/maintenance", json=body).json()["on"] is True
    task = made.http.get(f"/tasks/{NAME}").json()
    assert (task["maintenance"], task["maintenance_reason"]) == ("task", "new disks")
    assert code(made.http.post(f"/tasks/{NAME}/switchover")) == (409, "E5007")
    assert made.http.post(f"/tasks/{NAME}/maintenance", json={"on": "false"}).json()["on"] is False
    made.http.post("/maintenance", json={"on": "true"})
    assert made.http.get(f"/tasks/{NAME}").json()["maintenance"] == "cluster"
    made.http.post("/maintenance", json={"on": "false"})
    assert made.http.get(f"/tasks/{NAME}").json()["maintenance"] == ""
    assert code(made.http.post("/maintenance", json={"on": "perhaps"})) == (422, "E1003")
    happened = [item["event"] for item in made.http.get(f"/tasks/{NAME}/history").json()["items"]]
    assert happened.count("maintenance") == 4


def test_a_deletion_at_a_version_that_is_not_the_present_one(made: World) -> None:
    path = f"/tasks/{NAME}"
    assert made.http.put(path, content=TASK.replace("3306", "3307")).status_code == 200
    assert code(made.http.delete(path, headers={"if-match": '"0"'})) == (412, "E4006")
    assert code(made.http.delete(f"{path}?version=0")) == (409, "E4006")
    assert code(made.http.delete(path, headers={"if-match": "now"})) == (422, "E1003")
    assert made.http.get(path).json()["desired"] == "running"
    assert made.http.delete(path, headers={"if-match": 'W/"1"'}).status_code == 204
    assert code(made.http.delete(path, headers={"if-match": "*"})) == (404, "E5003")


VERBS = ("pause", "resume", "switchover", "restart", "retry", "position", "quarantine")


@pytest.mark.parametrize("verb", VERBS)
def test_commands_at_a_version_that_is_not_the_present_one(made: World, verb: str) -> None:
    """412 before anything else, and nothing is ordered."""
    body = {"position": {"begin": "latest"}, "quarantine": {"table": "shop.a"}}.get(verb, {})
    for dry_run in ({}, {"dry_run": "true"}):
        answer = made.http.post(f"/tasks/{NAME}/{verb}", json=body, headers={"if-match": '"7"'}, params=dry_run)
        assert code(answer) == (412, "E4006") and answer.json()["error"]["found"] == "version 0"
    assert made.http.get(f"/tasks/{NAME}").json()["desired"] == "running"
    assert Commands(made.bus.coordinator, made.bus.layout).pending(NAME) == []


def test_dry_runs_of_commands_check_and_order_nothing(made: World) -> None:
    dry: dict[str, Any] = {"params": {"dry_run": "true"}, "headers": {"if-match": '"0"'}}
    assert made.http.post(f"/tasks/{NAME}/pause", **dry).json()["desired"] == "running"
    assert code(made.http.post(f"/tasks/{NAME}/restart", **dry)) == (409, "E5007")
    core = made.core("host-a").stand(NAME, "running")
    assert made.http.post(f"/tasks/{NAME}/restart", **dry).json()["id"] == ""
    made.http.post(f"/tasks/{NAME}/pause")
    assert made.http.post(f"/tasks/{NAME}/resume", **dry).json()["desired"] == "paused"
    core.stand(NAME, "failed", error={"code": "E2206", "what": "purged"})
    assert made.http.post(f"/tasks/{NAME}/retry", **dry).json()["id"] == ""
    assert Commands(made.bus.coordinator, made.bus.layout).pending(NAME) == []
