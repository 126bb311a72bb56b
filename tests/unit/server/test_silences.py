"""Silences over the API: who may, what is refused, what the audit has, and when they go."""

from __future__ import annotations

from typing import Any

import pytest

from replicator.alerts.silence import MOST, Matchers
from replicator.alerts.silence_store import KEPT_MS, Silences
from replicator.coordination.access.tokens import Tokens
from replicator.coordination.alert_records import SilenceRecord
from replicator.coordination.clock import now_ms
from replicator.coordination.records import dump
from tests.support.api import TASK, World
from tests.unit.server.test_tasks import NAME, code

PATH = "/alerts/silences"


def post(world: World, **body: Any) -> Any:
    return world.http.post(PATH, json={"seconds": 60, "reason": "why", **body})


def test_a_silence_is_made_listed_and_ended(world: World) -> None:
    made = post(world, rule="BusLag", task="orders", labels={"env": "prod"}, seconds=7200)
    assert made.status_code == 201
    id_ = made.json()["id"]
    (item,) = world.http.get(PATH).json()["items"]
    assert (item["rule"], item["task"], item["labels"], item["reason"]) == ("BusLag", "orders", {"env": "prod"}, "why")
    assert abs(item["until_ms"] - now_ms() - 7_200_000) < 60_000 and item["by"]
    (stored,) = Silences(world.bus.coordinator, world.bus.layout).list()
    assert stored.covers("BusLag", "task", "orders", {"env": "prod"}, now_ms())
    assert world.http.delete(f"{PATH}/{id_}", params={"reason": "done"}).status_code == 204
    assert world.http.get(PATH).json()["items"] == []
    assert code(world.http.delete(f"{PATH}/{id_}")) == (404, "E5184")
    entries = {one["operation"]: one for one in world.http.get("/audit").json()["items"] if one["outcome"] == "done"}
    assert entries["silenceAlerts"]["target"] == "orders" and entries["silenceAlerts"]["reason"] == "why"
    assert entries["unsilenceAlerts"]["reason"] == "done"
    assert entries["unsilenceAlerts"]["changes"][0]["before"] == "rule BusLag, task orders, label env=prod: why"


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ({}, (422, "E5185")),
        ({"rule": "a b"}, (422, "E5185")),
        ({"rule": "BusLag", "seconds": 0}, (422, "E5185")),
        ({"rule": "BusLag", "seconds": 10**9}, (422, "E5185")),
        ({"rule": "BusLag", "reason": " "}, (422, "E5185")),
        ({"rule": "BusLag", "reason": "a\nb"}, (422, "E5185")),
        ({"task": "a", "machine": "b"}, (422, "E5185")),
        ({"labels": {"a b": "c"}}, (422, "E5185")),
        ({"rule": "BusLag", "colour": "red"}, (422, "E1003")),
        ({"rule": 7}, (422, "E1003")),
        ({"seconds": "long"}, (422, "E1003")),
    ],
)
def test_refused(world: World, body: dict[str, Any], wanted: tuple[int, str]) -> None:
    assert code(post(world, **body)) == wanted
    assert world.http.get(PATH).json()["items"] == []


@pytest.mark.parametrize("id_", ["nope", "..%2F..%2Ftasks", "0123456789ab"])
def test_ids_that_are_none(world: World, id_: str) -> None:
    assert code(world.http.delete(f"{PATH}/{id_}"))[0] == 404


def test_what_is_over_goes_with_the_next_write(world: World) -> None:
    layout, store = world.bus.layout, Silences(world.bus.coordinator, world.bus.layout)
    post(world, rule="BusLag")
    ended = SilenceRecord(rule="BusLag", until_ms=now_ms() - KEPT_MS - 1)
    world.bus.coordinator.create(layout.silence("0" * 12), dump(ended))
    world.bus.coordinator.create(layout.silence("1" * 12), b"not json")
    world.bus.coordinator.create(f"{layout.silences}/other", b"")
    assert len(store.list()) == 2 and len(world.http.get(PATH).json()["items"]) == 1
    post(world, rule="BusLagLong")
    assert len(store.list()) == 2
    assert world.bus.coordinator.exists(layout.silence("0" * 12)) is None


def test_there_are_not_too_many(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST == 1000
    monkeypatch.setattr("replicator.alerts.silence_store.MOST", 2)
    for _ in range(2):
        assert post(world, rule="BusLag").status_code == 201
    assert code(post(world, rule="BusLag")) == (422, "E5185")


def test_roles_and_selectors(world: World) -> None:
    world.http.post("/tasks", content=TASK + "labels: {team: red}\n")
    tokens = Tokens(world.bus.coordinator, world.bus.layout)

    def headers(name: str, role: str, selector: str = "") -> dict[str, str]:
        return {"authorization": f"Bearer {tokens.create(name, role, selector, 0, 'test').secret}"}  # type: ignore[arg-type]

    viewer, red, blue = (
        headers("v", "viewer"), headers("r", "operator", "team=red"), headers("b", "operator", "team=blue"),
    )  # fmt: skip
    body = {"task": NAME, "seconds": 60, "reason": "why"}
    assert code(world.http.post(PATH, json=body, headers=viewer)) == (403, "E5072")
    assert code(world.http.post(PATH, json={**body, "task": "", "rule": "BusLag"}, headers=red)) == (403, "E5072")
    assert code(world.http.post(PATH, json=body, headers=blue)) == (404, "E5003")
    made = world.http.post(PATH, json=body, headers=red)
    assert made.status_code == 201
    assert len(world.http.get(PATH, headers=red).json()["items"]) == 1
    assert world.http.get(PATH, headers=blue).json()["items"] == []
    assert code(world.http.delete(f"{PATH}/{made.json()['id']}", headers=blue)) == (404, "E5184")
    assert world.http.delete(f"{PATH}/{made.json()['id']}", headers=red).status_code == 204


def test_matchers() -> None:
    every = Matchers(rule="R", labels={"a": "b"})
    assert every.match("R", "machine", "x", {"a": "b", "c": "d"})
    assert not every.match("R", "task", "x", {"a": "c"}) and not every.match("Q", "task", "x", {"a": "b"})
    assert not Matchers(task="x").match("R", "machine", "x", {})
    assert not Matchers(machine="x").match("R", "task", "x", {})
