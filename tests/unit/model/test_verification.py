"""The last verification of a task: reports of all tables and of some."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from replicator.model.verification import (
    MOST_TABLES,
    RESULTS,
    Result,
    Verification,
    VerificationReport,
    VerifiedTable,
    merged,
)


def report(
    *tables: VerifiedTable, whole: bool = True, version: int = 3, uid: str = "u", at: int = 10, omitted: int = 0
) -> VerificationReport:
    return VerificationReport(
        uid=uid, version=version, whole=whole, began_ms=at - 5, ended_ms=at, tables=tables, omitted=omitted
    )


def table(name: str, result: Result = "equal", **counts: Any) -> VerifiedTable:
    return VerifiedTable(name, result, counts.pop("at", 10), **counts)


def after(*reports: VerificationReport) -> Verification:
    kept = None
    for each in reports:
        kept = merged(kept, each, "me")
    assert kept is not None
    return kept


def test_a_report_of_some_tables_leaves_the_others() -> None:
    first = report(table("a"), table("b", "differs", missing=2), at=10)
    assert (after(first).result, after(first).equal_ms, after(first).whole_ms) == ("differs", 0, 10)
    kept = after(first, report(table("b", at=20), whole=False, at=20))
    assert [(each.table, each.time_ms) for each in kept.tables] == [("a", 10), ("b", 20)]
    assert (kept.result, kept.equal_ms, kept.whole_ms, kept.ended_ms) == ("equal", 0, 10, 20)


def test_the_last_time_that_all_tables_were_equal_is_kept() -> None:
    kept = after(report(table("a"), at=10), report(table("a", "differs", extra=1), at=20))
    assert (kept.result, kept.equal_ms, kept.whole_ms) == ("differs", 10, 20)
    assert after(report(table("a", "undecided"), at=10)).equal_ms == 0


def test_verdicts_of_another_configuration_or_task_are_dropped() -> None:
    first = report(table("a", "differs", missing=1), table("b"), at=10)
    kept = after(first, report(table("b"), whole=False, version=4, at=20))
    assert [each.table for each in kept.tables] == ["b"] and kept.whole_ms == 10
    again = after(first, report(table("b"), whole=False, uid="other", at=20))
    assert [each.table for each in again.tables] == ["b"] and again.whole_ms == 0


def test_a_report_of_all_tables_replaces_dropped_ones() -> None:
    assert [each.table for each in after(report(table("a"), table("b")), report(table("b"))).tables] == ["b"]


_TABLES = st.lists(
    st.tuples(st.integers(0, 9), st.sampled_from(RESULTS)), unique_by=lambda each: each[0], min_size=1
).map(lambda found: tuple(table(str(name), result) for name, result in found))


@given(_TABLES, _TABLES)
def test_the_result_is_that_of_the_worst_table(one: tuple[VerifiedTable, ...], two: tuple[VerifiedTable, ...]) -> None:
    kept = after(report(*one), report(*two, whole=False))
    verdicts = {each.table: each.result for each in (*one, *two)}
    assert {each.table: each.result for each in kept.tables} == verdicts
    bad = [result for result in ("error", "differs", "undecided") if result in verdicts.values()]
    assert kept.result == (bad[0] if bad else "equal")
    assert sum(kept.count(result) for result in RESULTS) == len(verdicts)


def test_as_many_tables_as_a_znode_holds() -> None:
    many = [table(f"t{number}") for number in range(MOST_TABLES + 40)] + [table("z", "differs", missing=1)]
    kept = after(report(*many))
    assert (len(kept.tables), kept.omitted, kept.tables[0].table) == (MOST_TABLES, 41, "z")
    assert (kept.count("equal"), kept.count("differs")) == (MOST_TABLES + 40, 1)
