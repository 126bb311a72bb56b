"""Servers as the Cores see them."""

from __future__ import annotations

from typing import Any

from monitor.endpoints_seen import Endpoint, endpoints
from monitor.reach import Reach
from monitor.view import MemberView, TaskRow, View
from tests.unit.monitor.scene import small
from tests.unit.monitor.test_problems import NOW, retrying, row
from tests.unit.monitor.test_view_builder import Eye


def member(host: str, state: str = "STANDBY", **reach: bool) -> MemberView:
    return MemberView(host, 1, state, 0, NOW, reach={side: Reach(one, NOW) for side, one in reach.items()})


def seen(*tasks: TaskRow) -> dict[str, Endpoint]:
    return {one.place: one for one in endpoints(View(root="/bus", read_ms=NOW, tasks=tasks))}


def test_a_task_that_works_reaches_its_servers() -> None:
    found = {one.place: one for one in endpoints(Eye(small()).look())}
    assert set(found) == {"mysql db1.shop.internal:3306", "kafka kafka1.internal:9092 +1"}
    assert all((one.word, one.reached, one.tone) == ("reached", ("host-a",), "ok") for one in found.values())


def test_who_reaches_it_and_who_retries() -> None:
    members: Any = (member("a", "RUNNING", source=True, sink=False), member("b", source=True, sink=True))
    tasks = [row(f"t{n}", members=members, retrying=retrying(since_ms=NOW - n)) for n in range(3)]
    found = seen(*tasks, row("u", members=(member("a", "RUNNING"),), source="mysql db2:3306"))
    kafka = found["kafka kafka-1:9092"]
    assert (kafka.word, kafka.retrying, len(kafka.tasks), kafka.code) == ("retrying", 3, 4, "E3001")
    assert (kafka.since_ms, kafka.unreached, kafka.reached) == (NOW - 2, ("a",), ("a", "b"))
    assert found["mysql db1:3306"].word == "reached" and found["mysql db2:3306"].reached == ("a",)
    assert next(iter(found)) == "kafka kafka-1:9092", "in trouble first"


def test_what_is_not_known() -> None:
    old = row("a", members=(member("a", "RUNNING"),), figures_old=True, registry="http://r1:8081")
    assert {one.word for one in seen(old).values()} == {"not known"}
    assert seen(old)["http://r1:8081"].query == "" and seen(old)["mysql db1:3306"].query == '"mysql db1:3306"'


def test_a_standby_that_does_not_reach_it() -> None:
    found = seen(row("a", members=(member("a", "RUNNING"), member("b", sink=False))))
    assert (found["kafka kafka-1:9092"].word, found["kafka kafka-1:9092"].tone) == ("partly reached", "warn")
    alone = seen(row("a", state="WAITING", members=(member("b", sink=False),)))
    assert alone["kafka kafka-1:9092"].word == "not reached"
