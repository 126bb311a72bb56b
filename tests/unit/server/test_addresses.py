"""The address book over the API."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from replicator.coordination.addresses.address_records import ProbeRecord
from replicator.coordination.records import AddressFigures
from server.address_probes import AddressProbes, changed, kind_of
from server.addresses import AddressOperations
from tests.support.api import TASK, World
from tests.unit.server.test_tasks import NAME, code

PATH = "/addresses/shop/orders"
WITH_ADDRESS = TASK.replace("  host: 127.0.0.1\n  port: 3306\n", "  address: ddns:shop/orders\n")


def put(world: World, address: str = "db1:3306", version: int | None = None, **more: str) -> Any:
    headers = {} if version is None else {"if-match": f'"{version}"'}
    return world.http.put(PATH, json={"address": address, **more}, headers=headers)


def test_set_read_and_list(world: World) -> None:
    assert code(world.http.get(PATH)) == (404, "E4101")
    answer = put(world, role="replica", reason="new")
    assert answer.status_code == 200 and answer.headers["etag"] == '"0"'
    item = answer.json()
    assert (item["kind"], item["name"], item["address"], item["role"]) == (
        "Address", "shop/orders", "db1:3306", "replica"
    )  # fmt: skip
    assert item["by"].startswith("token:server@") and item["tasks"] == [] and item["probe"] is None
    put(world, "db2:3306")
    found = world.http.get(PATH).json()
    assert (found["version"], found["role"], found["earlier"][0]["address"]) == (1, "replica", "db1:3306")
    assert [one["name"] for one in world.http.get("/addresses").json()["items"]] == ["shop/orders"]


def test_if_match(world: World) -> None:
    put(world)
    assert code(put(world, "db2:3306", version=7)) == (412, "E4006")
    assert put(world, "db2:3306", version=0).status_code == 200
    assert code(world.http.delete(PATH, headers={"if-match": '"0"'})) == (412, "E4006")
    assert world.http.delete(PATH, headers={"if-match": '"1"'}).status_code == 204
    assert code(world.http.delete(PATH)) == (404, "E4101")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/addresses/shop/or%20ders", {"address": "db1:3306"}),
        ("/addresses/..%2f/orders", {"address": "db1:3306"}),
        (PATH, {"address": "db1"}),
        (PATH, {"address": "db1:3306", "role": "king"}),
        (PATH, {"role": "primary"}),
        (PATH, {"address": "db1:3306", "other": "x"}),
        (PATH, {"address": 7}),
    ],
)
def test_what_is_not_valid(world: World, path: str, body: dict[str, Any]) -> None:
    assert world.http.put(path, json=body).status_code in (404, 422)
    assert world.http.get("/addresses").json()["items"] == []


def test_an_address_that_no_core_may_connect_to(world: World) -> None:
    """Nothing is written, so that no task has to find out; a list that changes later is for the Cores to obey."""
    put(world)
    assert world.http.put("/cluster/outgoing", json={"entries": ["10.0.0.0/8:3306", "db1"]}).status_code == 200
    for address in ("192.0.2.7:3306", "10.0.0.7:3307"):
        assert code(put(world, address)) == (422, "E1050")
    assert world.http.get(PATH).json()["address"] == "db1:3306"
    for address in ("10.0.0.7:3306", "db1:3307", "named.example.com:3306"):  # what a name is, Cores look up
        assert put(world, address).status_code == 200


def test_who_may(world: World) -> None:
    """Viewers read; an address sends passwords and rows somewhere, so that only admins of all tasks set it."""
    put(world)
    for role, selector in (("viewer", ""), ("operator", ""), ("admin", "env=prod")):
        made = world.http.post("/tokens", json={"name": role, "role": role, "selector": selector}).json()
        headers = {"authorization": f"Bearer {made['token']['secret']}"}
        assert world.http.get(PATH, headers=headers).status_code == 200
        refused = world.http.put(PATH, json={"address": "evil:1"}, headers=headers)
        assert code(refused) == (403, "E5072")
        assert code(world.http.delete(PATH, headers=headers)) == (403, "E5072")
    assert world.http.get(PATH).json()["address"] == "db1:3306"


def test_the_audit_has_the_change(world: World) -> None:
    put(world)
    put(world, "db2:3306", reason="moved")
    entry = world.http.get("/audit").json()["items"][-1]
    assert (entry["operation"], entry["target"], entry["reason"]) == ("setAddress", "shop/orders", "moved")
    assert entry["changes"] == [{"key": "address", "before": "db1:3306", "after": "db2:3306"}]


def test_a_task_needs_the_name(world: World) -> None:
    for dry_run in ("true", "false"):
        answer = world.http.post("/tasks", content=WITH_ADDRESS, params={"dry_run": dry_run})
        assert code(answer) == (404, "E4101")
    put(world)
    assert world.http.post("/tasks", content=WITH_ADDRESS).status_code == 201
    other = WITH_ADDRESS.replace("shop/orders", "shop/missing")
    assert code(world.http.put(f"/tasks/{NAME}", content=other)) == (404, "E4101")


def test_a_name_that_is_gone_prevents_no_other_change(world: World) -> None:
    put(world)
    world.http.post("/tasks", content=WITH_ADDRESS)
    world.bus.coordinator.delete(world.bus.layout.address("shop", "orders"))
    assert world.http.put(f"/tasks/{NAME}", content=WITH_ADDRESS + "labels: {a: b}\n").status_code == 200


def test_one_in_use_is_not_deleted(world: World) -> None:
    put(world)
    world.http.post("/tasks", content=WITH_ADDRESS)
    answer = world.http.delete(PATH)
    assert code(answer) == (409, "E4103") and NAME in answer.text
    assert world.http.get(PATH).json()["tasks"] == [NAME]
    assert world.http.put(f"/tasks/{NAME}", content=TASK).status_code == 200
    assert world.http.delete(PATH).status_code == 204


def test_a_selector_hides_the_tasks_of_others(world: World) -> None:
    put(world)
    world.http.post("/tasks", content=WITH_ADDRESS)
    made = world.http.post("/tokens", json={"name": "ci", "role": "viewer", "selector": "env=prod"}).json()
    headers = {"authorization": f"Bearer {made['token']['secret']}"}
    assert world.http.get(PATH, headers=headers).json()["tasks"] == []


def test_a_refusal_is_a_problem_of_the_task(world: World) -> None:
    put(world)
    world.http.post("/tasks", content=WITH_ADDRESS)
    error = {"code": "E4105", "what": "refused", "found": "E2209 lacks u:1-5", "wanted": "", "fix": "", "position": ""}
    figure = AddressFigures(section="source", name="shop/orders", wanted="b:1", in_use="a:1", error=error)
    world.core("host-a").stand(NAME, "running", addresses=[figure])
    task = world.http.get(f"/tasks/{NAME}").json()
    assert task["addresses"][0]["in_use"] == "a:1" and task["problems"][0]["code"] == "E4105"


# Probes


def probes(world: World, answers: dict[tuple[str, int], str], master: bool = True) -> tuple[AddressProbes, list[Any]]:
    asked: list[Any] = []

    def ask(address: tuple[str, int], kind: str) -> str:
        asked.append((address, kind))
        return answers.get(address, "")

    operations = AddressOperations(world.bus.coordinator, world.bus.layout)
    return AddressProbes(operations, lambda: master, "server-a", ask), asked


def test_the_master_probes_and_records_changes(world: World) -> None:
    put(world)
    world.http.post("/tasks", content=WITH_ADDRESS)
    answers: dict[tuple[str, int], str] = {}
    watch, asked = probes(world, answers)
    node = world.bus.layout.address_probe("shop", "orders")
    with ThreadPoolExecutor(2) as pool:
        watch.round(pool)
        watch.round(pool)
        assert asked == [(("db1", 3306), "database")] * 2
        assert world.bus.coordinator.get(node).stat.version == 0, "nothing has changed"
        assert world.http.get(PATH).json()["probe"]["answers"] is True
        answers["db1", 3306] = "connection refused"
        watch.round(pool)
        found = world.http.get(PATH).json()["probe"]
        assert (found["answers"], found["code"], found["found"]) == (False, "E4108", "connection refused")
        assert world.http.get(PATH).json()["address"] == "db1:3306", "nothing is repointed"
        put(world, "db2:3306")
        assert world.http.get(PATH).json()["probe"] is None, "it was of the value before"
        watch.round(pool)
        assert world.http.get(PATH).json()["probe"]["address"] == "db2:3306"


def test_other_servers_probe_nothing(world: World) -> None:
    put(world)
    watch, asked = probes(world, {}, master=False)
    with ThreadPoolExecutor(1) as pool:
        watch.round(pool)
    assert asked == []


def test_probes_survive_an_outage_and_a_damaged_record(world: World) -> None:
    put(world)
    watch, asked = probes(world, {})
    with ThreadPoolExecutor(1) as pool:
        world.bus.coordinator.suspend()
        watch.round(pool)
        world.bus.coordinator.resume()
        world.bus.coordinator.set(world.bus.layout.address("shop", "orders"), b"junk")
        watch.round(pool)
    assert asked == []


def test_since_when() -> None:
    first = changed(None, "a:1", "", 10, "s")
    assert first is not None and (first.answers, first.since_ms) == (True, 10)
    assert changed(first, "a:1", "", 20, "s") is None
    down = changed(first, "a:1", "refused", 30, "s")
    assert down is not None and (down.since_ms, down.code) == (30, "E4108")
    other = changed(down, "a:1", "timeout", 40, "s")
    assert other is not None and (other.since_ms, other.found) == (30, "timeout")
    moved = changed(other, "b:1", "timeout", 50, "s")
    assert moved is not None and moved.since_ms == 50
    assert changed(ProbeRecord(address="a:1", answers=False, since_ms=1, found="x"), "a:1", "", 60, "s") is not None


def test_how_a_server_is_asked() -> None:
    assert kind_of(()) == "any" and kind_of([("sink", "file")]) == "any"
    assert kind_of([("source", "mysql"), ("sink", "mariadb")]) == "database"
    assert kind_of([("sink", "kafka")]) == "kafka" and kind_of([("sink", "kafka"), ("source", "mysql")]) == "any"
