"""When a Core begins, ends and keeps the nightly verifications of the tasks that it leads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from core.nightly_verifications import NightlyVerifications
from core.task_checks import Led
from replicator.coordination.in_memory.coordinator import MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.coordination.leadership.state import State
from replicator.coordination.tasks.registry import Registry
from replicator.coordination.tasks.verifications import Verifications
from replicator.coordination.tasks.verify_orders import VerifyOrders
from replicator.errors import NotConnected
from replicator.model.nightly import DAY_MS, MOST_ATTEMPTS, Outcome, VerifyOrder
from replicator.model.position import Position
from replicator.model.snapshot import SnapshotProgress
from replicator.model.verification import Verification, VerifiedTable

LAYOUT = Layout("/r")
CONFIG = {"name": "task", "verify": {"nightly": True}}
DIFFERS = Outcome(stage="done", whole=True, tables=(VerifiedTable("shop.item", "differs", 5, rows=3, missing=1),))


class Process:
    def __init__(self) -> None:
        self.outcome: Outcome | None = None
        self.killed = False

    def poll(self, position: Position | None) -> Outcome | None:
        return self.outcome

    def kill(self) -> None:
        self.killed = True


class Host:
    """A Core that leads `task`. Wall clock: `now` s."""

    def __init__(self, ensemble: MemoryEnsemble | None = None, name: str = "core-a") -> None:
        self.ensemble = ensemble or MemoryEnsemble()
        self.zk = self.ensemble.session()
        if ensemble is None:
            Registry(self.zk, LAYOUT).create("task", CONFIG, "test")
        prefix = LAYOUT.contender_prefix("task", name, "0" * 32)
        self.own = self.zk.create(prefix, b"{}", ephemeral=True, sequential=True).rpartition("/")[2]
        self.uid = Registry(self.zk, LAYOUT).read("task").record.uid
        self.led = {"task": Led(self.own, self.uid, 0, CONFIG, Position("binlog.1", 4))}
        self.now = 1000.0
        self.begun: list[Mapping[str, int]] = []
        self.process = Process()
        self.orders, self.results = VerifyOrders(self.zk, LAYOUT), Verifications(self.zk, LAYOUT)
        self.nightly = NightlyVerifications(
            lambda: self.led, self.begin, self.orders, self.results, lambda: name, lambda: self.now
        )

    def begin(self, config: Mapping[str, Any], uid: str, last: Mapping[str, int]) -> Process:
        self.begun.append(last)
        self.process = Process()
        return self.process

    def change(self, **more: Any) -> None:
        self.led["task"] = self.led["task"]._replace(**more)

    def ordered(self, **more: Any) -> None:
        given = {"uid": self.uid, "date": "2026-11-26", "stage": "ordered", "not_before_ms": 1_000_000, **more}
        assert self.orders.write("task", VerifyOrder(**given), self.orders.read("task").version)

    @property
    def stage(self) -> str:
        return self.order.stage

    @property
    def order(self) -> VerifyOrder:
        found = self.orders.read("task").order
        assert found is not None
        return found

    @property
    def result(self) -> Verification | None:
        return self.results.read("task", self.uid)


@pytest.fixture
def host() -> Host:
    return Host()


def test_the_result_is_kept_once_with_the_end_of_the_order(host: Host) -> None:
    host.nightly.round()
    assert host.begun == []
    host.ordered(not_before_ms=1_010_000)
    host.nightly.round()
    assert host.begun == [] and host.stage == "ordered", "it waits for its time"
    host.now += 10
    host.nightly.round()
    host.nightly.round()
    assert host.begun == [{}] and (host.stage, host.order.host, host.order.attempts) == ("running", "core-a", 1)
    host.process.outcome = DIFFERS
    host.nightly.round()
    host.nightly.round()
    assert host.stage == "done" and len(host.begun) == 1
    found = host.result
    assert found is not None and (found.result, found.by, found.host, found.whole_ms) == (
        "differs", "nightly", "core-a", 1_010_000,
    )  # fmt: skip
    host.ordered(date="2026-11-27")
    host.nightly.round()
    assert host.begun[1:] == [{"shop.item": 5}], "the next one knows when tables were compared"


@pytest.mark.parametrize(
    ("change", "stage", "note"),
    [
        ({"state": State.PAUSED}, "interrupted", "the task is paused"),
        ({"state": State.FAILED}, "interrupted", "the task is failed"),
        ({"version": 1}, "interrupted", "the configuration was changed"),
        ({"config": {**CONFIG, "x": 1}}, "interrupted", "the configuration was changed"),
        ({"state": State.STARTING}, "ordered", ""),
    ],
)
def test_what_ends_it(host: Host, change: dict[str, Any], stage: str, note: str) -> None:
    host.ordered()
    host.nightly.round()
    host.change(**change)
    host.process.outcome = DIFFERS
    host.nightly.round()
    assert host.process.killed and host.result is None
    assert (host.stage, host.order.note) == (stage, note)


@pytest.mark.parametrize(
    ("change", "stage"),
    [
        ({"state": State.PAUSED}, "skipped"),
        ({"config": {"name": "task"}}, "skipped"),
        ({"position": Position("b", 4, snapshot=SnapshotProgress("s", 1))}, "skipped"),
        ({"state": State.STARTING}, "ordered"),
        ({"uid": "another"}, "ordered"),
    ],
)
def test_what_keeps_it_from_beginning(host: Host, change: dict[str, Any], stage: str) -> None:
    host.ordered()
    host.change(**change)
    host.nightly.round()
    assert host.begun == [] and host.stage == stage


def test_an_order_of_a_day_ago_is_not_begun(host: Host) -> None:
    host.ordered()
    host.now += DAY_MS / 1000
    host.nightly.round()
    assert host.begun == [] and host.stage == "skipped"


def test_the_next_leader_begins_it_again_and_the_former_one_writes_nothing(host: Host) -> None:
    host.ordered()
    host.nightly.round()
    former, host.led["former"] = host.process, host.led["task"]
    host.zk.delete(LAYOUT.contender("task", host.own))
    following = Host(host.ensemble, "core-b")
    following.nightly.round()
    assert (following.order.host, following.order.attempts) == ("core-b", 2)
    former.outcome = DIFFERS  # the former Core does not know yet
    host.nightly.round()
    assert following.result is None and following.order.host == "core-b"
    following.process.outcome = Outcome(stage="done", whole=True, tables=(VerifiedTable("shop.item", "equal", 9),))
    following.nightly.round()
    assert following.result is not None and following.result.result == "equal"
    assert following.order.stage == "done"


def test_a_task_that_went_elsewhere_is_left_to_the_next_core(host: Host) -> None:
    host.ordered()
    host.nightly.round()
    host.led.clear()
    host.nightly.round()
    assert host.process.killed and host.stage == "running"


def test_cores_that_die_of_it_are_not_many(host: Host) -> None:
    host.ordered(stage="running", attempts=MOST_ATTEMPTS)
    host.nightly.round()
    assert host.begun == [] and host.stage == "interrupted" and "were gone" in host.order.note


def test_one_that_found_nothing_says_why_and_leaves_the_last_result(host: Host) -> None:
    host.ordered()
    host.nightly.round()
    host.process.outcome = Outcome(stage="failed", note="E5031 the target is behind")
    host.nightly.round()
    assert (host.stage, host.order.note, host.result) == ("failed", "E5031 the target is behind", None)


def test_a_part_is_kept_as_a_part(host: Host) -> None:
    host.ordered()
    host.nightly.round()
    host.process.outcome = Outcome(stage="incomplete", note="2 of 3", tables=(VerifiedTable("a.b", "equal", 7),))
    host.nightly.round()
    found = host.result
    assert found is not None and found.whole_ms == 0 and found.equal_ms == 0
    assert (host.stage, host.order.note) == ("incomplete", "2 of 3")


def test_a_result_waits_for_the_connection(host: Host) -> None:
    host.ordered()
    host.nightly.round()
    host.process.outcome = DIFFERS
    host.zk.suspend()
    with pytest.raises(NotConnected):
        host.nightly.round()
    host.zk.resume()
    host.nightly.round()
    assert host.stage == "done" and host.result is not None


def test_tasks_are_verified_one_after_the_other(host: Host) -> None:
    host.ordered()
    Registry(host.zk, LAYOUT).create("z", CONFIG, "test")
    own = host.zk.create(
        LAYOUT.contender_prefix("z", "core-a", "0" * 32), b"{}", ephemeral=True, sequential=True
    ).rpartition("/")[2]
    uid = Registry(host.zk, LAYOUT).read("z").record.uid
    host.led["z"] = host.led["task"]._replace(own=own, uid=uid)
    assert host.orders.write("z", VerifyOrder(uid=uid, date="2026-11-26", stage="ordered"), -1)
    host.nightly.round()
    host.nightly.round()
    assert len(host.begun) == 1
    host.process.outcome = DIFFERS
    host.nightly.round()
    host.nightly.round()
    assert len(host.begun) == 2
