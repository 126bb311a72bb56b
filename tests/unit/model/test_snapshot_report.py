"""Percent, rate and time left of a snapshot."""

from __future__ import annotations

from msgspec.structs import replace

from replicator.model.snapshot import OpenTable, SnapshotProgress
from replicator.model.snapshot_report import report

BEGUN = SnapshotProgress("initial", begun_ms=1_000)
MIDDLE = replace(
    BEGUN, tables=3, finished=1, last="shop.a", open=OpenTable("shop.b"), rows=2_000, size=90, estimate=5_000
)


def test_at_its_beginning_nothing_is_known() -> None:
    told = report(BEGUN, 1_000)
    assert (told.state, told.percent, told.rows_per_s, told.eta_s, told.table) == ("running", 0, None, None, "")


def test_in_between() -> None:
    told = report(MIDDLE, 11_000)
    assert (told.state, told.percent, told.rows_per_s, told.eta_s) == ("running", 40, 200.0, 15.0)
    assert (told.table, told.tables, told.tables_complete, told.rows_expected) == ("shop.b", 3, 1, 5_000)


def test_more_rows_than_were_expected() -> None:
    told = report(replace(MIDDLE, rows=7_000), 11_000)
    assert (told.percent, told.eta_s) == (99, None)


def test_a_table_that_grows() -> None:
    told = report(replace(MIDDLE, open=OpenTable("shop.b", estimate=900, passed=901)), 11_000)
    assert (told.growing, told.eta_s, told.percent) == (True, None, 40)
    told = report(replace(MIDDLE, open=OpenTable("shop.b", estimate=900, passed=900)), 11_000)
    assert (told.growing, told.eta_s) == (False, 15.0)


def test_rows_that_a_condition_leaves_out_are_passed() -> None:
    told = report(replace(MIDDLE, rows=2, passed=4_000), 11_000)
    assert (told.rows, told.percent, told.rows_per_s, told.eta_s) == (2, 80, 0.2, 2.5)


def test_a_clock_that_went_back_makes_no_rate() -> None:
    told = report(MIDDLE, 500)
    assert (told.rows_per_s, told.eta_s) == (None, None)


def test_at_its_end_the_rate_is_that_of_all_rows() -> None:
    told = report(replace(MIDDLE, open=None, finished=3, ended_ms=5_000), 99_000)
    assert (told.state, told.percent, told.rows_per_s, told.eta_s) == ("complete", 100, 500.0, None)
    assert told.ended_ms == 5_000
