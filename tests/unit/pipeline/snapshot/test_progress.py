"""How the progress of a snapshot changes with what is delivered."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from replicator.model.position import Position
from replicator.model.snapshot import OpenTable, RowImages, SnapshotProgress
from replicator.model.snapshot_report import report
from replicator.pipeline.ports import Chunk
from replicator.pipeline.snapshot.progress import delivered, without_rows

replace = msgspec.structs.replace
TABLE = OpenTable("shop.item", ("id",), limit=("9",), estimate=100)
BEGUN = SnapshotProgress("initial", 1, tables=2, estimate=150)


def chunk(rows: int, *, final: bool = False, covered: int = 0) -> Chunk:
    images = RowImages(bytes(3 * rows), range(3, 3 * rows + 3, 3))
    return Chunk(b"", images, Position("log.000001", 4), ("5",), final, 0, covered)


def opened(progress: SnapshotProgress) -> OpenTable:
    assert progress.open is not None
    return progress.open


def test_a_chunk() -> None:
    after = delivered(BEGUN, TABLE, chunk(10), 8)
    table = opened(after)
    assert (table.done, table.rows, table.passed, table.size, table.chunks) == (("5",), 8, 10, 30, 1)
    assert (after.rows, after.passed, after.size, after.estimate) == (8, 10, 30, 150)


def test_rows_that_a_condition_leaves_out() -> None:
    after = delivered(BEGUN, TABLE, chunk(0, covered=60), 0)
    assert (after.rows, after.passed, opened(after).passed, after.estimate) == (0, 60, 60, 150)


def test_a_table_with_fewer_rows_than_were_expected() -> None:
    after = delivered(BEGUN, TABLE, chunk(40, final=True), 40)
    assert (after.open, after.last, after.finished, after.estimate) == (None, "shop.item", 1, 90)


def test_a_table_with_more_rows_than_were_expected() -> None:
    after = delivered(BEGUN, TABLE, chunk(140), 140)
    assert after.estimate == 190 and report(after, 5).growing
    after = delivered(after, opened(after), chunk(20, final=True), 20)
    assert after.estimate == 210 and not report(after, 5).growing


def test_a_table_that_is_given_up_comes_again() -> None:
    after = delivered(BEGUN, TABLE, chunk(30), 30)
    again = without_rows(after, replace(BEGUN, open=None))
    assert (again.rows, again.passed, again.estimate) == (30, 30, 180)


def test_the_first_piece_says_what_is_expected() -> None:
    assert without_rows(SnapshotProgress("initial", 1), BEGUN).estimate == 150


@given(
    estimate=st.integers(0, 50),
    others=st.integers(0, 50),
    chunks=st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=10),
)
def test_percent_and_time_left_make_sense(estimate: int, others: int, chunks: list[tuple[int, int]]) -> None:
    """However wrong the estimate is."""
    progress = replace(BEGUN, estimate=estimate + others)
    table = replace(TABLE, estimate=estimate)
    for number, (rows, left_out) in enumerate(chunks):
        final = number == len(chunks) - 1
        progress = delivered(progress, table, chunk(rows, final=final, covered=rows + left_out), rows)
        table = progress.open or table
        told = report(progress, 10)
        assert 0 <= told.percent <= 99 and (told.eta_s is None or told.eta_s >= 0)
        assert progress.passed <= progress.estimate
        assert not told.growing or told.eta_s is None
    assert progress.estimate == progress.passed + others
