"""A history read as role changes."""

from __future__ import annotations

from monitor.changes import Change, changes, latest
from replicator.coordination.history import Entry
from replicator.coordination.records import HistoryRecord


def told(*records: HistoryRecord) -> list[Change]:
    return changes("t", [Entry(number, record) for number, record in enumerate(records)])


def happened(kind: str, at_s: float, host: str = "", **more: object) -> HistoryRecord:
    return HistoryRecord(kind=kind, time_ms=int(at_s * 1000), host=host, **more)  # type: ignore[arg-type]


def test_first_term() -> None:
    (change,) = told(happened("running", 10, "a"))
    assert (change.kind, change.host, change.previous, change.tone) == ("started", "a", "", "ok")


def test_take_over_without_release_is_a_fail_over() -> None:
    change = told(happened("running", 10, "a"), happened("running", 99, "b", seconds=11.0))[-1]
    assert (change.kind, change.previous, change.host, change.seconds) == ("fail-over", "a", "b", 11.0)
    assert change.tone == "warn"


def test_lost_lease_is_a_fail_over_and_gives_the_gap() -> None:
    change = told(happened("running", 10, "a"), happened("lost", 50, "a"), happened("running", 54.5, "b"))[-1]
    assert (change.kind, change.seconds) == ("fail-over", 4.5)


def test_release_is_a_switchover_with_who_ordered_it() -> None:
    change = told(
        happened("running", 10, "a"),
        happened("switchover", 49, "a", by="jan"),
        happened("released", 50, "a"),
        happened("running", 50.4, "b"),
    )[-1]
    assert (change.kind, change.previous, change.by, change.tone) == ("switchover", "a", "jan", "ok")
    assert round(change.seconds, 3) == 0.4


def test_the_same_host_comes_back() -> None:
    again = told(happened("running", 10, "a"), happened("released", 50, "a"), happened("running", 60, "a"))[-1]
    assert (again.kind, again.previous) == ("running again", "")
    restarted = told(happened("running", 10, "a"), happened("running", 60, "a"))[-1]
    assert (restarted.kind, restarted.previous) == ("fail-over", "")


def test_history_that_was_trimmed_before_the_release() -> None:
    change = told(happened("released", 50, "a"), happened("running", 51, "b"))[-1]
    assert (change.kind, change.previous) == ("switchover", "a")


def test_other_entries_are_lines_of_their_own() -> None:
    lines = told(happened("created", 1), happened("paused", 2, by="x"), happened("from-the-future", 3))
    assert [line.kind for line in lines] == ["created", "paused", "from-the-future"]


def test_latest_over_all_tasks_newest_first() -> None:
    lines = told(*(happened("paused", at) for at in range(50)))
    assert [line.time_ms for line in latest(lines, limit=3)] == [49_000, 48_000, 47_000]
