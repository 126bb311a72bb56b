"""The cluster's list of outgoing addresses over the API, and configurations that it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from replicator.coordination.outgoing import OutgoingList
from replicator.host import access
from tests.support.api import TASK, World
from tests.unit.server.test_tasks import NAME, code

PATH = "/cluster/outgoing"


def put(world: World, *entries: str, **more: Any) -> Any:
    return world.http.put(PATH, json={"entries": list(entries)}, **more)


def entries(world: World) -> tuple[str, ...] | None:
    return OutgoingList(world.bus.coordinator, world.bus.layout).entries()


def test_a_list_is_written_changed_and_removed(world: World) -> None:
    never = world.http.get(PATH).json()
    assert (never["limited"], never["entries"], never["version"]) == (False, [], -1)
    first = put(world, "127.0.0.0/8", "*.example.com:9092", params={"reason": "audit"})
    assert first.status_code == 200
    assert (first.json()["version"], first.headers["etag"], first.json()["refused"]) == (0, '"0"', [])
    assert entries(world) == ("127.0.0.0/8", "*.example.com:9092")
    shown = world.http.get(PATH).json()
    assert (shown["reason"], shown["limited"]) == ("audit", True)
    assert world.http.delete(PATH).status_code == 204
    assert entries(world) is None
    assert put(world, "10.0.0.0/8").json()["version"] == 2  # no number comes again
    changes = [entry["changes"] for entry in world.http.get("/audit").json()["items"]]
    assert changes == [
        [{"key": "outgoing", "after": "127.0.0.0/8, *.example.com:9092"}],
        [{"key": "outgoing", "before": "127.0.0.0/8, *.example.com:9092"}],
        [{"key": "outgoing", "after": "10.0.0.0/8"}],
    ]


def test_two_who_change_it_at_the_same_time(world: World) -> None:
    put(world, "10.0.0.0/8")
    put(world, "10.0.0.0/9", headers={"if-match": '"0"'})
    for answer in (
        put(world, "10.0.0.0/10", headers={"if-match": '"0"'}),
        world.http.delete(PATH, headers={"if-match": '"0"'}),
    ):
        assert code(answer) == (412, "E4006")
    assert entries(world) == ("10.0.0.0/9",)


@pytest.mark.parametrize(
    "body",
    [
        {"entries": []},
        {"entries": ["*"]},
        {"entries": ["none", "10.0.0.0/8"]},
        {"entries": ["10.0.0.1/8"]},
        {"entries": ["x" * 1000]},
        {"entries": [f"host{n}" for n in range(1001)]},
    ],
)
def test_invalid_lists(world: World, body: Any) -> None:
    answer = world.http.put(PATH, json=body)
    assert code(answer) == (422, "E1051")
    assert entries(world) is None


@pytest.mark.parametrize("body", [b"", b"[]", b'{"entries": "a"}', b'{"entries": [1]}', b'{"entries": [], "x": 1}'])
def test_invalid_bodies(world: World, body: bytes) -> None:
    answer = world.http.put(PATH, content=body)
    assert code(answer) == (422, "E1003")


def test_configurations_are_compared_before_they_are_stored(world: World) -> None:
    put(world, "127.0.0.1:3306", "kafka.example.com")
    answer = world.http.post("/tasks", content=TASK)
    assert code(answer) == (422, "E1050")
    assert answer.json()["error"]["found"] == "sink.bootstrap_servers: 127.0.0.1:9092"
    assert world.http.get("/tasks").json()["items"] == []
    allowed = TASK.replace("127.0.0.1:9092", "kafka.example.com:9092")
    assert world.http.post("/tasks?dry_run=true", content=TASK).status_code == 422
    assert world.http.post("/tasks", content=allowed).status_code == 201
    for other in ("169.254.169.254:9092", "[::1]:9092", "localhost:9092", "0177.0.0.1:9092", "evil.example.com:9092"):
        answer = world.http.put(f"/tasks/{NAME}", content=TASK.replace("127.0.0.1:9092", other))
        assert code(answer) == (422, "E1050"), other
    put(world, "none")
    assert code(world.http.put(f"/tasks/{NAME}", content=allowed.replace("customer", "item"))) == (422, "E1050")
    world.http.delete(PATH)
    assert world.http.put(f"/tasks/{NAME}", content=TASK).status_code == 200
    put(world, "kafka.example.com")
    assert code(world.http.post(f"/tasks/{NAME}/rollback", json={"to": "0"})) == (422, "E1050")


def test_the_list_of_the_server_counts_as_well(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(access.ALLOW_OUTGOING, "10.0.0.0/8")
    answer = world.http.post("/tasks", content=TASK)
    assert code(answer) == (422, "E1050")
    assert "of this host" in answer.json()["error"]["what"]


def test_tasks_that_a_list_would_stop_are_named(world: World) -> None:
    world.http.post("/tasks", content=TASK)
    refused = [
        {"task": NAME, "key": "source.host", "address": "127.0.0.1:3306"},
        {"task": NAME, "key": "sink.bootstrap_servers", "address": "127.0.0.1:9092"},
    ]
    tried = put(world, "10.0.0.0/8", params={"dry_run": "true"}).json()
    assert (tried["refused"], tried["entries"]) == (refused, ["10.0.0.0/8"])
    assert entries(world) is None
    assert put(world, "127.0.0.1:9092").json()["refused"] == refused[:1]
    assert world.http.get(PATH).json()["refused"] == refused[:1]


def test_a_list_that_nobody_understands_allows_nothing(world: World) -> None:
    world.bus.coordinator.create(world.bus.layout.outgoing, b"?", parents=True)
    assert entries(world) == ()
    assert code(world.http.post("/tasks", content=TASK)) == (422, "E1051")
    assert code(world.http.get(PATH)) == (500, "E4009")
