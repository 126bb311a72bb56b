"""When a Core checks the tasks that it leads, and what it keeps of that."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from core.task_checks import DAY, FIRST, PACE, SPREAD, Led, TaskChecks
from replicator.coordination.in_memory.coordinator import MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.coordination.leadership.facts import CheckOrder
from replicator.coordination.tasks.checks import TaskCheckResults
from replicator.coordination.tasks.registry import Registry
from replicator.errors import NotConnected
from replicator.model.finding import Finding
from replicator.model.position import Position
from replicator.model.task_check import MOST_FINDINGS, TaskCheck, fitting

LATER = FIRST + SPREAD
OK = [Finding.ok("source.reachable", "it answers")]


class Host:
    """One Core that leads `task`, on a bus in memory. Time passes when `round` is called with it."""

    def __init__(self, ensemble: MemoryEnsemble | None = None, name: str = "core-a", now: float = 1000.0) -> None:
        self.ensemble = ensemble or MemoryEnsemble()
        self.coordinator = self.ensemble.session()
        self.layout = Layout()
        if ensemble is None:
            Registry(self.coordinator, self.layout).create("task", {"name": "task"}, "test")
        prefix = self.layout.contender_prefix("task", name, "0" * 32)
        own = self.coordinator.create(prefix, b"{}", ephemeral=True, sequential=True).rpartition("/")[2]
        uid = Registry(self.coordinator, self.layout).read("task").record.uid
        self.led = {"task": Led(own, uid, 3, {"name": "task"}, Position("binlog.1", 4))}
        self.now = now
        self.ran: list[str] = []
        self.findings: list[Finding] | None = OK
        self.results = TaskCheckResults(self.coordinator, self.layout)
        clock: Callable[[], float] = lambda: self.now  # noqa: E731
        self.checks = TaskChecks(lambda: self.led, self.run, self.results, lambda: name, clock, clock)

    def run(self, config: object, position: Position | None) -> list[Finding] | None:
        self.ran.append(str(position))
        return self.findings

    def round(self, seconds: float = 0.0) -> None:
        self.now += seconds
        self.checks.round()

    def order(self, order: str) -> None:
        self.led["task"] = self.led["task"]._replace(order=CheckOrder(order, "ann"))

    @property
    def result(self) -> TaskCheck | None:
        return self.results.read("task", self.led["task"].uid)


def test_a_task_is_checked_some_minutes_after_it_came_and_then_daily() -> None:
    host = Host()
    host.round()
    assert host.ran == [], "not while it takes over"
    host.round(LATER)
    assert host.ran == ["binlog.1:4"]
    found = host.result
    assert found is not None
    assert (found.result, found.version, found.host, found.order, found.by) == ("ok", 3, "core-a", "", "")
    host.round(DAY - 10)
    assert len(host.ran) == 1
    host.round(20)
    assert len(host.ran) == 2


def test_a_core_that_takes_over_goes_on_with_the_day_of_the_one_before() -> None:
    first = Host()
    first.round()
    first.round(LATER)
    second = Host(first.ensemble, "core-b", first.now + 1)
    second.round()
    second.round(LATER)
    assert second.ran == []
    second.round(DAY - 2 * LATER)
    assert second.ran == []
    second.round(LATER)
    assert len(second.ran) == 1


def test_another_configuration_is_checked_without_waiting_for_the_next_day() -> None:
    host = Host()
    host.round()
    host.round(LATER)
    host.led["task"] = host.led["task"]._replace(version=4)
    host.round()
    host.round(LATER)
    assert len(host.ran) == 2
    assert host.result is not None and host.result.version == 4


def test_an_order_is_obeyed_once_and_at_once() -> None:
    host = Host()
    host.order("one")
    host.round()
    host.round()
    assert len(host.ran) == 1
    assert host.result is not None and (host.result.order, host.result.by) == ("one", "ann")
    host.led["task"] = host.led["task"]._replace(version=4)
    host.round()
    assert len(host.ran) == 1, "the same order, of another configuration"
    host.order("two")
    host.round()
    assert len(host.ran) == 2 and host.result.order == "two"
    host.round(DAY + LATER)
    assert len(host.ran) == 3
    assert host.result is not None and host.result.order == "", "a daily one"


def test_a_paused_task_is_checked_on_order_alone() -> None:
    host = Host()
    host.led["task"] = host.led["task"]._replace(daily=False)
    host.round()
    host.round(LATER)
    assert host.ran == []
    host.order("one")
    host.round()
    assert len(host.ran) == 1


def test_many_tasks_are_not_checked_at_once() -> None:
    host = Host()
    host.led |= {f"task{number}": host.led["task"] for number in range(5)}
    host.round()
    for _ in range(10):
        host.round(LATER / 10 if host.now < 1000 + LATER else 0)
    before = len(host.ran)
    host.round()
    assert len(host.ran) == before, "one in PACE"
    host.round(PACE)
    assert len(host.ran) <= before + 1


def test_who_is_no_longer_in_the_queue_writes_nothing() -> None:
    host = Host()
    host.coordinator.delete(host.layout.contender("task", host.led["task"].own))
    host.order("one")
    host.round()
    assert len(host.ran) == 1 and host.result is None


def test_a_check_that_does_not_end_is_a_finding() -> None:
    host = Host()
    host.findings = None
    host.order("one")
    host.round()
    assert host.result is not None and host.result.result == "warn"
    assert host.result.worst_finding is not None and host.result.worst_finding.id == "check.finished"


def test_zookeeper_away_puts_a_check_off() -> None:
    host = Host()
    host.round()
    host.coordinator.suspend()
    with pytest.raises(NotConnected):
        host.round(LATER)
    host.coordinator.resume()
    host.round(LATER)
    assert host.result is not None


def test_what_is_kept_fits_into_a_znode() -> None:
    findings = [Finding(f"a.{n}", "ok" if n % 2 else "fail", "x" * 5000, "y" * 5000) for n in range(300)]
    kept, left_out = fitting(findings)
    assert len(kept) == MOST_FINDINGS and left_out == 300 - MOST_FINDINGS
    assert all(one.severity == "fail" and len(one.found) <= 1000 for one in kept)
    assert [one.id for one in kept] == [f"a.{2 * n}" for n in range(MOST_FINDINGS)], "in their order"


def test_a_result_of_another_incarnation_is_none() -> None:
    host = Host()
    host.order("one")
    host.round()
    assert host.results.read("task", "another") is None
    host.coordinator.set(host.layout.task_check("task"), b"not json")
    assert host.result is None
