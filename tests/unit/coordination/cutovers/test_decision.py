"""How a cut-over goes on: all tasks stop at one position of their source, or all go on."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.coordination.cutovers.cutover_records import CutoverRecord, Party
from replicator.coordination.cutovers.decision import Seen, Step, decide
from replicator.model.position import Position
from replicator.model.topic_offsets import TopicOffsets

DB1, DB2 = "3e11fa47-71ca-11e1-9e33-c80aa9429562", "4e11fa47-71ca-11e1-9e33-c80aa9429562"
NOW, DEADLINE = 1_000, 60_000


def at(offset: int, server: str = DB1, file: str = "binlog.000001", **more: Any) -> Position:
    return Position(file, offset, server=server, **more)


def record(*tasks: str, **changes: Any) -> CutoverRecord:
    parties = tuple(Party(task=task, uid=f"uid-{task}") for task in tasks or ("a", "b"))
    base = CutoverRecord(by="ann", began_ms=0, deadline_ms=DEADLINE, parties=parties)
    return msgspec.structs.replace(base, **changes)


def seen(task: str, position: Position | None, state: str = "paused", **more: Any) -> Seen:
    given: dict[str, Any] = {"ours": True, "uid": f"uid-{task}", "state": state, "position": position}
    return Seen(**(given | more))


def look(**positions: Position | None) -> dict[str, Seen]:
    return {task: seen(task, position) for task, position in positions.items()}


def step(before: CutoverRecord, now: dict[str, Seen], now_ms: int = NOW) -> Step:
    found = decide(before, now, now_ms)
    assert found is not None
    return found


def test_waits_until_all_have_paused() -> None:
    now = look(a=at(100), b=at(200)) | {"b": seen("b", at(200), "draining")}
    assert decide(record(), now, NOW) is None


def test_tasks_of_one_source_stop_at_the_furthest_of_them() -> None:
    first = step(record("a", "b", "c"), look(a=at(100), b=at(200), c=at(200)))
    assert (first.record.phase, first.orders) == ("aligning", {"a": "align"})
    assert [party.goal for party in first.record.parties] == [at(200)] * 3
    assert [party.reached for party in first.record.parties] == [None, at(200), at(200)]
    assert decide(first.record, look(a=at(100), b=at(200), c=at(200)), NOW) is None, "its Core has not read it yet"
    last = step(first.record, look(a=at(200), b=at(200), c=at(200)))
    assert (last.record.phase, last.record.ended_ms) == ("reached", NOW)
    assert last.orders == {"a": "release", "b": "release", "c": "release"}


def test_one_that_went_beyond_becomes_the_goal_of_the_others() -> None:
    first = step(record(), look(a=at(100), b=at(200)))
    again = step(first.record, look(a=at(4, file="binlog.000002"), b=at(200)))
    assert (again.record.phase, again.orders) == ("aligning", {"b": "align"})


def test_tasks_of_several_sources_stay_where_they_have_paused() -> None:
    topics = Position.of_topics((TopicOffsets("t", (7,)),))
    found = step(record("a", "b", "c"), look(a=at(100), b=at(900, DB2), c=topics))
    assert found.record.phase == "reached"
    assert [party.reached for party in found.record.parties] == [at(100), at(900, DB2), topics]


def test_resumes_all_of_them_when_told_so() -> None:
    found = step(record(resume=True), look(a=at(100), b=at(100)))
    assert (found.record.phase, found.orders) == ("reached", {"a": "resume", "b": "resume"})


@pytest.mark.parametrize(("keep", "order"), [(False, "resume"), (True, "release")])
def test_the_deadline_names_who_is_late(keep: bool, order: str) -> None:
    now = look(a=at(100), b=at(200)) | {"b": seen("b", at(200), "running")}
    assert decide(record(), now, DEADLINE - 1) is None
    found = step(record(keep=keep), now, DEADLINE)
    assert (found.record.phase, found.record.code) == ("failed", "E5152")
    assert "b is running" in found.record.found and "a is" not in found.record.found
    assert found.orders == {"a": order, "b": order}


def test_a_deadline_while_one_catches_up() -> None:
    first = step(record(), look(a=at(100), b=at(200)))
    found = step(first.record, look(a=at(150), b=at(200)) | {"a": seen("a", at(150), "running")}, DEADLINE)
    assert "not yet at" in found.record.found and found.orders == {"a": "resume", "b": "resume"}


@pytest.mark.parametrize(
    ("change", "told", "orders"),
    [
        ({"state": "failed", "error": "E2001 gone"}, "b: E2001 gone", {"a": "resume", "b": "resume"}),
        ({"state": "unconfigured"}, "no configuration", {"a": "resume", "b": "resume"}),
        ({"ours": False, "by": "bea"}, "otherwise by bea", {"a": "resume"}),
        ({"uid": ""}, "deleted", {"a": "resume"}),
        ({"uid": "another"}, "created again", {"a": "resume"}),
    ],
)
def test_one_that_can_not_stop_lets_the_others_go_on(change: dict[str, Any], told: str, orders: dict[str, str]) -> None:
    now = look(a=at(100)) | {"b": seen("b", at(100), **change)}
    found = step(record(), now)
    assert (found.record.phase, found.record.code) == ("failed", "E5151") and told in found.record.found
    assert found.orders == orders, "what an operator has ordered since stays"


def test_a_failed_task_names_its_error_or_is_late() -> None:
    now = look(a=at(100)) | {"b": seen("b", at(100), "failed")}
    assert decide(record(), now, NOW) is None, "the error is on its way"
    assert step(record(), now, DEADLINE).record.found.startswith("b is failed")


def test_cancelled() -> None:
    found = step(record(cancelled_by="bea"), look(a=at(100), b=at(100)))
    assert found.record.phase == "failed" and "cancelled by bea" in found.record.found


def test_positions_that_can_not_be_compared_let_all_go_on() -> None:
    sets = (f"{DB1}:1-5,{DB2}:1", f"{DB1}:1-4,{DB2}:1-2")
    found = step(record(), look(a=at(100, gtid=sets[0]), b=at(200, gtid=sets[1])))
    assert found.record.phase == "failed" and "compared" in found.record.found


@given(st.lists(st.tuples(st.sampled_from([DB1, DB2]), st.integers(4, 40)), min_size=1, max_size=6))
def test_all_of_a_source_end_at_the_same_place(places: list[tuple[str, int]]) -> None:
    """Whatever the positions at which they pause, in two steps at most."""
    names = [f"t{number}" for number in range(len(places))]
    now = {name: seen(name, at(offset, server)) for name, (server, offset) in zip(names, places, strict=True)}
    found = step(record(*names), now)
    if found.record.phase == "aligning":
        goals = {party.task: party.goal for party in found.record.parties}
        assert all(order == "align" for order in found.orders.values())
        found = step(found.record, {name: seen(name, goals[name]) for name in names})
    assert found.record.phase == "reached"
    stops = {(server, party.reached) for (server, _), party in zip(places, found.record.parties, strict=True)}
    assert len(stops) == len({server for server, _ in places})
