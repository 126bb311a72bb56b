"""A history read as role changes."""

from __future__ import annotations

from typing import Any

from monitor.role_changes import Change, changes, latest
from replicator.coordination.records import HistoryRecord
from replicator.coordination.tasks.history import Entry


def told(*records: HistoryRecord) -> list[Change]:
    return changes("t", [Entry(number, record) for number, record in enumerate(records)])


def happened(kind: str, at_s: float, host: str = "", **more: Any) -> HistoryRecord:
    return HistoryRecord(kind=kind, time_ms=int(at_s * 1000), host=host, **more)


def test_first_term() -> None:
    (change,) = told(happened("running", 10, "a"))
    assert (change.kind, change.host, change.previous, change.tone) == ("started", "a", "", "ok")


def test_a_term_that_was_not_released_is_a_fail_over() -> None:
    change = told(
        happened("running", 10, "a", epoch=1),
        happened("lost", 98, "b", epoch=1, reason="its session or its znode is gone"),
        happened("running", 99, "b", epoch=2, seconds=1.0),
    )[-1]
    assert (change.kind, change.previous, change.host, change.seconds) == ("fail-over", "a", "b", 1.0)
    assert change.tone == "warn"


def test_a_frozen_leader_tells_of_its_loss_later() -> None:
    lines = told(
        happened("running", 10, "a", epoch=1),
        happened("running", 99, "b", epoch=2),
        happened("lost", 120, "a", epoch=1),
        happened("released", 130, "b", epoch=2),
        happened("running", 131, "a", epoch=3),
    )
    assert [line.kind for line in lines] == ["started", "fail-over", "switchover"]


def test_an_ordered_switchover_names_who_ordered_it() -> None:
    change = told(
        happened("running", 10, "a", epoch=1),
        happened("switchover", 50, "a", epoch=1, by="jan", reason="to b"),
        happened("running", 50.4, "b", epoch=2, seconds=0.1),
    )[-1]
    assert (change.kind, change.previous, change.by, change.tone) == ("switchover", "a", "jan", "ok")
    assert round(change.seconds, 3) == 0.4


def test_a_leader_that_gave_up_is_no_switchover() -> None:
    change = told(
        happened("running", 10, "a", epoch=1),
        happened("gave up", 50, "a", epoch=1, reason="the source can't be reached from this host; to b"),
        happened("running", 50.4, "b", epoch=2, seconds=0.1),
    )[-1]
    assert (change.kind, change.previous, change.host, change.tone) == ("gave up", "a", "b", "warn")
    assert change.reason == "the source can't be reached from this host"


def test_a_position_that_was_set_is_told() -> None:
    change = told(happened("position", 10, by="jan", position="binlog.000007:4"))[-1]
    assert (change.kind, change.position, change.by) == ("position", "binlog.000007:4", "jan")


def test_a_release_that_is_written_after_the_next_term_began() -> None:
    change = told(
        happened("running", 10, "a", epoch=1),
        happened("running", 50.2, "b", epoch=2, seconds=0.2),
        happened("released", 50.3, "a", epoch=1, reason="SIGTERM"),
    )[-1]
    assert (change.kind, change.previous, change.seconds, change.reason) == ("switchover", "a", 0.2, "SIGTERM")


def test_a_switchover_to_the_running_one_changes_nothing() -> None:
    lines = told(
        happened("running", 10, "a", epoch=1),
        happened("switchover", 20, "a", epoch=1, reason="is already RUNNING"),
        happened("running", 99, "b", epoch=2),
    )
    assert [line.kind for line in lines] == ["started", "fail-over"]


def test_the_same_host_comes_back() -> None:
    worker = told(happened("running", 10, "a", epoch=1), happened("running", 60, "a", epoch=1))[-1]
    assert (worker.kind, worker.previous) == ("running again", "")
    released = told(
        happened("running", 10, "a", epoch=1),
        happened("released", 50, "a", epoch=1),
        happened("running", 60, "a", epoch=2),
    )[-1]
    assert (released.kind, released.previous) == ("running again", "")
    died = told(happened("running", 10, "a", epoch=1), happened("running", 60, "a", epoch=2))[-1]
    assert (died.kind, died.previous) == ("fail-over", "")


def test_history_that_was_trimmed_before_the_release() -> None:
    change = told(happened("released", 50, "a", epoch=1), happened("running", 51, "b", epoch=2))[-1]
    assert (change.kind, change.previous) == ("switchover", "a")


def test_other_entries_are_lines_of_their_own() -> None:
    lines = told(happened("created", 1), happened("paused", 2, by="x"), happened("from-the-future", 3))
    assert [line.kind for line in lines] == ["created", "paused", "from-the-future"]


def test_latest_over_all_tasks_newest_first() -> None:
    lines = told(*(happened("paused", at) for at in range(50)))
    assert [line.time_ms for line in latest(lines, limit=3)] == [49_000, 48_000, 47_000]
