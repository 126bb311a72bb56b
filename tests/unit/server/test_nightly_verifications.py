"""The duty that orders the nightly verifications: each task once a day, also when a Server ends in the middle."""

from __future__ import annotations

import contextlib
import json
from typing import Any

from replicator.coordination.in_memory.coordinator import MemoryCoordinator, MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.coordination.overview import TaskOverview
from replicator.coordination.ports import Create
from replicator.coordination.recipes.claim_nodes import Owner
from replicator.coordination.recipes.duties import Duties
from replicator.coordination.tasks.registry import Registry
from replicator.coordination.tasks.status import Status
from replicator.coordination.tasks.verify_orders import VerifyOrders
from replicator.errors import NotConnected
from replicator.model.nightly import VerifyOrder
from server.nightly_verifications import PACE_MS, NightlyVerifications

LAYOUT = Layout("/r")
NAMES = [f"task{number}" for number in range(6)]


class Server:
    def __init__(self, ensemble: MemoryEnsemble, name: str, dies_after: int = -1) -> None:
        self.zk, self.left = ensemble.session(), dies_after
        self.nightly = NightlyVerifications(self.zk, LAYOUT, self.tasks, name, lambda: "2026-11-26", lambda: 50)
        owner = Owner(by="server", host=name, pid=1)
        self.duties = Duties(self.zk, LAYOUT, owner, {"verify": self.nightly.order}, lambda: "2026-11-26")
        self.more: dict[str, dict[str, Any]] = {}

    def tasks(self) -> list[TaskOverview]:
        made = []
        for name in NAMES:
            known = {"state": "running", "config": {"verify": {"nightly": True}}, **self.more.get(name, {})}
            made.append(TaskOverview(name=name, uid=Registry(self.zk, LAYOUT).read(name).record.uid, **known))
        return made


def bus() -> MemoryEnsemble:
    ensemble = MemoryEnsemble()
    for name in NAMES:
        Registry(ensemble.session(), LAYOUT).create(name, {"name": name}, "test")
    return ensemble


def orders(zk: MemoryCoordinator) -> dict[str, VerifyOrder | None]:
    return {name: VerifyOrders(zk, LAYOUT).read(name).order for name in NAMES}


def test_once_a_day_a_few_seconds_apart_and_those_that_do_not_run_are_noted() -> None:
    ensemble = bus()
    server = Server(ensemble, "a")
    server.more = {"task1": {"state": "failed"}, "task2": {"config": {}}, "task3": {"desired": "paused"}}
    assert server.duties.run() == ["verify"]
    found = orders(server.zk)
    assert found["task2"] is None
    starts = [one.not_before_ms % 86_400_000 for one in found.values() if one is not None and one.stage == "ordered"]
    assert [start - starts[0] for start in starts] == [0, PACE_MS, 2 * PACE_MS]
    skipped = {name: one.note for name, one in found.items() if one is not None and one.stage == "skipped"}
    assert skipped == {"task1": "the task is failed", "task3": "the task is paused"}
    assert server.duties.run() == []
    assert Server(ensemble, "b").duties.run() == []


def test_the_next_server_goes_on_where_one_has_died() -> None:
    ensemble = bus()
    first = Server(ensemble, "first")
    real, written = first.zk.multi, 0

    def multi(ops: Any) -> Any:
        nonlocal written
        if any(isinstance(op, Create) and op.path.endswith("/verify-order") for op in ops):
            if written == 3:
                first.zk.close()
                raise NotConnected("E4001", "killed")
            written += 1
        return real(ops)

    first.zk.multi = multi  # type: ignore[method-assign]
    with contextlib.suppress(NotConnected):
        first.duties.run()
    following = Server(ensemble, "following")
    assert sum(one is not None for one in orders(following.zk).values()) == 3
    assert following.duties.run() == ["verify"]
    by = [one.by for one in orders(following.zk).values() if one is not None]
    assert by == ["first"] * 3 + ["following"] * 3, "none is ordered twice"


def test_a_record_that_is_not_understood_is_replaced_and_a_deleted_task_is_passed() -> None:
    ensemble = bus()
    server = Server(ensemble, "a")
    server.zk.create(LAYOUT.verify_order("task0"), b"not json")
    tasks = server.tasks()
    Status(server.zk, LAYOUT).set("task1", "deleted", "test")
    Registry(server.zk, LAYOUT).remove("task1")
    server.nightly._tasks = lambda: tasks
    server.nightly.order(lambda: True)
    found = orders(server.zk)
    assert found["task0"] is not None and found["task1"] is None and found["task5"] is not None
    assert json.loads(server.zk.get(LAYOUT.verify_order("task0")).data)
