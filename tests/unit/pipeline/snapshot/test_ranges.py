"""Ranges of a table that several connections read at the same time, over a source in memory."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from replicator.errors import SourceUnavailable
from replicator.model.snapshot import SnapshotProgress
from replicator.source.memory_snapshot import MemoryTable
from tests.support.snapshot_stream import TABLE, Stream


@pytest.fixture
def ranges() -> Iterator[Stream]:
    """Four connections read a table of 30 rows, 10 apart, in ranges of 5."""
    stream = Stream(0, 5, connections=4, aaa=0)
    stream.session.close()
    with stream.server.changed:
        stream.server.tables = {
            TABLE: MemoryTable(b"map", ("id",), {(n,): bytes((n // 2, 0)) for n in range(0, 300, 10)})
        }
    stream.server.reads.clear()
    yield stream
    stream.session.close()


def rows(*numbers: int) -> list[bytes]:
    return [bytes((number // 2, 0)) for number in numbers]


ALL = range(0, 300, 10)
SECOND, THIRD = ("40",), ("90",)
"""Behind which those ranges begin."""


def test_ranges_come_in_order_whichever_is_read_first(ranges: Stream) -> None:
    with ranges.server.stall(TABLE, SECOND):
        ranges.begin(SnapshotProgress("initial", 1))
        ranges.until(lambda: len(ranges.server.reads) >= 5)
        for _ in range(20):
            ranges.turn()
            time.sleep(0.001)
        assert ranges.values == rows(*ALL[:5])
        assert ranges.progress.open is not None and ranges.progress.open.done == SECOND
    ranges.until(lambda: not ranges.session.active)
    assert ranges.values == rows(*ALL)
    assert (ranges.progress.rows, ranges.progress.passed) == (30, 30)


def test_no_more_ranges_are_read_than_there_are_connections(ranges: Stream) -> None:
    with ranges.server.stall(TABLE, SECOND):
        ranges.begin(SnapshotProgress("initial", 1))
        ranges.until(lambda: len(ranges.server.reads) >= 5)
        time.sleep(0.05)
        assert len(ranges.server.reads) <= 1 + 4 + 1


def test_rows_that_came_into_a_range_are_read_as_parts_of_it(ranges: Stream) -> None:
    """Each part has a window of its own."""
    with ranges.server.stall(TABLE, SECOND):
        ranges.begin(SnapshotProgress("initial", 1))
        ranges.until(lambda: len(ranges.server.reads) >= 5)
        with ranges.server.changed:
            ranges.server.tables[TABLE].rows |= {(n,): bytes((n // 2, 0)) for n in range(42, 50, 2)}
    ranges.until(lambda: not ranges.session.active)
    assert ranges.values == rows(*sorted([*ALL, *range(42, 50, 2)]))


def test_a_range_whose_table_has_changed_takes_those_behind_it_along(ranges: Stream) -> None:
    with ranges.server.stall(TABLE, SECOND):
        ranges.begin(SnapshotProgress("initial", 1))
        ranges.until(lambda: len(ranges.server.reads) >= 5)
        with ranges.server.changed:
            ranges.server.tables[TABLE] = MemoryTable(b"map", ("name",), {("a",): b"a0"})
    ranges.until(lambda: not ranges.session.active)
    assert ranges.values == [*rows(*ALL[:5]), b"a0"]


def test_a_stale_range_takes_those_along_that_are_still_being_read(ranges: Stream) -> None:
    with ranges.server.stall(TABLE, THIRD):
        with ranges.server.stall(TABLE, SECOND):
            ranges.begin(SnapshotProgress("initial", 1))
            ranges.until(lambda: len(ranges.server.reads) >= 5)
            ranges.session.altered(TABLE)
            with ranges.server.changed:
                ranges.server.tables[TABLE].rows |= {(n,): bytes((n // 2, 0)) for n in range(92, 100, 2)}
        ranges.until(lambda: len(ranges.server.reads) >= 7)
    ranges.until(lambda: not ranges.session.active)
    assert ranges.values == rows(*sorted([*ALL, *range(92, 100, 2)]))


def test_a_reader_that_fails_ends_the_stream(ranges: Stream) -> None:
    with ranges.server.stall(TABLE, SECOND):
        ranges.begin(SnapshotProgress("initial", 1))
        ranges.until(lambda: len(ranges.server.reads) >= 5)
        ranges.server.disconnect()
    with pytest.raises(SourceUnavailable):
        ranges.until(lambda: not ranges.session.active)


def test_it_can_be_closed_while_ranges_are_read(ranges: Stream) -> None:
    before = threading.active_count()
    with ranges.server.stall(TABLE, SECOND):
        ranges.begin(SnapshotProgress("initial", 1))
        ranges.until(lambda: len(ranges.server.reads) >= 5)
        ranges.session.close()
    assert threading.active_count() <= before


def test_long_rows_are_read_one_chunk_at_a_time(ranges: Stream) -> None:
    with ranges.server.changed:
        ranges.server.tables[TABLE].rows = {(n,): bytes((n, 0)) + bytes(4 << 20) for n in range(5)}
    ranges.commit()  # so that the first chunk waits for the stream
    ranges.begin(SnapshotProgress("initial", 1))
    ranges.until(lambda: ranges.session.waiting and ranges.server.reads)
    for _ in range(50):
        ranges.turn()
        time.sleep(0.001)
    assert len(ranges.server.reads) == 1
    ranges.at = ranges.log
    ranges.until(lambda: not ranges.session.active)
    assert [value[:2] for value in ranges.values] == [bytes((n, 0)) for n in range(5)]


def test_parts_of_a_range_are_read_as_they_are_delivered_where_they_are_long(ranges: Stream) -> None:
    """Nobody knew how long its rows would be when it was given to a reader."""
    with ranges.server.stall(TABLE, SECOND):
        ranges.begin(SnapshotProgress("initial", 1))
        ranges.until(lambda: len(ranges.server.reads) >= 5)
        with ranges.server.changed:
            ranges.server.tables[TABLE].rows |= {(n,): bytes((n // 2, 0)) + bytes(2 << 20) for n in range(50, 70)}
        ranges.commit()  # so that what is read from now on waits for the stream
    for _ in range(100):
        ranges.turn()
        time.sleep(0.001)
    assert len(ranges.server.reads) <= 6, "none but the range behind the others"
    ranges.at = ranges.log
    ranges.until(lambda: not ranges.session.active)
    assert [value[:2] for value in ranges.values] == rows(*sorted({*ALL, *range(50, 70)}))
