"""The lock to edit a task: one process at a time over all Servers, and writes only under it."""

from __future__ import annotations

from typing import Any

import pytest

from replicator.coordination.in_memory.coordinator import MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.coordination.recipes.claim_nodes import Owner
from replicator.errors import CoordinationError
from server.edit_locks import LEASE_S, EditLocks
from tests.support.api import TASK, World
from tests.unit.server.test_tasks import NAME, code

ANN = Owner(by="ann", host="laptop", pid=1)
BEA = Owner(by="bea", host="desk", pid=2)
PATH = f"/tasks/{NAME}/edit"


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def refused(locks: EditLocks, owner: Owner) -> str:
    with pytest.raises(CoordinationError) as error:
        locks.begin("copy", owner)
    return f"{error.value.code} {error.value.found}"


def test_one_process_at_a_time_over_two_servers() -> None:
    ensemble, layout = MemoryEnsemble(), Layout()
    one, other = EditLocks(ensemble.session(), layout), EditLocks(ensemble.session(), layout)
    first = one.begin("copy", ANN)
    assert one.begin("copy", ANN) == first, "a repeated request keeps the claim"
    for locks in (one, other):
        assert refused(locks, BEA).startswith("E4077 ann, on laptop, since ")
    one.end("copy", ANN)
    assert other.begin("copy", BEA).token > first.token
    assert other.holder("other") is None


def test_a_silent_process_loses_it_and_one_that_repeats_does_not() -> None:
    ensemble, clock = MemoryEnsemble(), Clock()
    locks = EditLocks(ensemble.session(), Layout(), clock)
    locks.begin("copy", ANN)
    clock.now = LEASE_S - 1
    locks.begin("copy", ANN)
    clock.now = LEASE_S + 5
    locks.expire()
    assert locks.holder("copy") is not None
    clock.now = 2 * LEASE_S
    locks.expire()
    assert locks.holder("copy") is None
    locks.begin("copy", BEA)


def test_the_lock_ends_with_its_server_and_another_server_gives_it_again() -> None:
    ensemble, layout = MemoryEnsemble(), Layout()
    session = ensemble.session()
    one, other = EditLocks(session, layout), EditLocks(ensemble.session(), layout)
    first = one.begin("copy", ANN)
    session.expire()
    again = other.begin("copy", ANN)
    assert again.token > first.token
    assert refused(one, BEA).startswith("E4077 ann")
    assert one.begin("copy", ANN).token > again.token, "a load balancer sends the next request elsewhere"
    assert refused(other, BEA).startswith("E4077 ann")


def test_force_takes_it_and_the_former_token_is_worth_nothing() -> None:
    ensemble, layout = MemoryEnsemble(), Layout()
    one, other = EditLocks(ensemble.session(), layout), EditLocks(ensemble.session(), layout)
    first = one.begin("copy", ANN)
    for locks in (other, one):
        second = locks.begin("copy", BEA, force=True)
        assert locks.proof("copy", second.token)
        with pytest.raises(CoordinationError) as error:
            one.proof("copy", first.token)
        assert error.value.code == "E4078"
    assert refused(one, ANN).startswith("E4077 bea")


def begin(world: World, host: str, **more: str) -> Any:
    return world.http.put(PATH, json={"host": host, "pid": "7", **more})


def test_writes_are_fenced(world: World) -> None:
    world.http.post("/tasks", content=TASK)
    token = begin(world, "laptop").json()["token"]
    changed = TASK.replace("3306", "3307")
    assert code(world.http.put(f"/tasks/{NAME}?edit_token={token + 1}", content=changed)) == (409, "E4078")
    assert code(begin(world, "desk")) == (409, "E4077")
    other = begin(world, "desk", force="true").json()
    assert (other["held"], other["host"], other["lease_s"]) == (True, "desk", LEASE_S)
    assert code(world.http.put(f"/tasks/{NAME}?edit_token={token}", content=changed)) == (409, "E4078")
    assert world.http.put(f"/tasks/{NAME}?edit_token={other['token']}", content=changed).status_code == 200
    assert world.http.get(PATH).json()["host"] == "desk"
    ended = world.http.request("DELETE", PATH, json={"host": "laptop", "pid": "7"})
    assert ended.status_code == 204 and world.http.get(PATH).json()["held"], "it is another process's"
    world.http.request("DELETE", PATH, json={"host": "desk", "pid": "7"})
    assert world.http.get(PATH).json()["held"] is False
    changed = TASK.replace("3306", "3308")
    assert code(world.http.put(f"/tasks/{NAME}?edit_token={other['token']}", content=changed)) == (409, "E4078")


def test_only_the_first_request_is_in_the_audit(world: World) -> None:
    world.http.post("/tasks", content=TASK)
    for _ in range(3):
        begin(world, "laptop")
    begin(world, "desk", force="true")
    items = [one for one in world.http.get("/audit").json()["items"] if one["operation"] == "beginEdit"]
    assert [one["arguments"]["host"] for one in items] in (["laptop", "desk"], ["desk", "laptop"])


@pytest.mark.parametrize(
    "body", [{}, {"host": "a"}, {"host": "", "pid": "1"}, {"host": "a", "pid": "x"}, {"host": "a", "pid": "1", "x": ""}]
)
def test_what_is_not_valid(world: World, body: dict[str, str]) -> None:
    world.http.post("/tasks", content=TASK)
    assert world.http.put(PATH, json=body).status_code == 422
    assert code(world.http.put(f"/tasks/missing/edit", json={"host": "a", "pid": "1"})) == (404, "E5003")  # noqa: F541
