from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from replicator.model.batch import Batch
from replicator.model.checkpoint import Checkpoint
from replicator.model.conflicts import ConflictCount
from replicator.model.position import Position
from replicator.pipeline.delivery_progress import DeliveryCounters, DeliveryProgress
from replicator.pipeline.status import PipelineStatus


def at(offset: int) -> Position:
    return Position("b.1", offset)


def delivery(rows: int = 0) -> DeliveryProgress:
    return DeliveryProgress(Checkpoint(at(0), 1, rows=rows), DeliveryCounters(), PipelineStatus(lambda: 9_000))


def kinds(book: DeliveryProgress) -> dict[str, int]:
    return {each.kind: each.count for each in book.last.conflict_counts}


def test_totals_belong_to_the_position_they_were_committed_with() -> None:
    book = delivery(rows=100)
    book.written(Batch([], at(1), True, 3, 1, 30, 5))
    book.committed(at(1), (ConflictCount("source_wins", "missing", 2),))
    book.written(Batch([], at(2), True, 4, 1, 40, 6))
    book.committed(at(2), (ConflictCount("source_wins", "exists", 4), ConflictCount("source_wins", "missing", 1)))
    book.acknowledged(at(1), 2)
    assert (book.last.conflicts, kinds(book)) == (2, {"missing": 2})
    assert (book.last.position, book.last.rows, book.last.epoch) == (at(1), 103, 2)
    assert book.outstanding
    book.acknowledged(at(2), 2)
    assert (book.last.rows, book.last.conflicts) == (107, 7)
    assert kinds(book) == {"exists": 4, "missing": 3}
    assert (book.figures.rows, book.figures.bytes, book.figures.transactions) == (7, 70, 2)
    assert not book.outstanding


def test_how_rows_are_written_is_in_the_checkpoint() -> None:
    for by_sql in (True, False):
        book = DeliveryProgress(
            Checkpoint(at(0), by_sql=not by_sql), DeliveryCounters(), PipelineStatus(lambda: 9_000), by_sql=by_sql
        )
        book.committed(at(1))
        book.acknowledged(at(1), 2)
        assert book.last.by_sql is by_sql


def test_a_position_that_was_never_committed_changes_nothing() -> None:
    book = delivery()
    book.written(Batch([], at(1), True, 3, 1, 30, 5))
    book.committed(at(1))
    book.acknowledged(at(0), 2)
    book.acknowledged(None, 2)
    assert not book.advanced
    assert book.figures.rows == 0


def changes(number: int, first_ms: int, last_ms: int) -> Batch:
    record = ("t", b"k", b"v", b"p", 0, ())
    return Batch([record], at(number), True, 1, 1, 10, last_ms, first_ms=first_ms)


def test_the_oldest_change_that_is_not_acknowledged_waits() -> None:
    status = PipelineStatus(lambda: 9_000)
    book = DeliveryProgress(Checkpoint(at(0), 1), DeliveryCounters(), status)
    assert book.waiting_ms == 0
    book.writing(changes(1, 1_000, 2_000))
    assert book.waiting_ms == 1_000, "while the sink takes it"
    book.committed(at(1))
    book.writing(changes(2, 3_000, 3_000))
    book.writing(changes(3, 4_000, 4_000))
    book.written(changes(3, 4_000, 4_000))
    book.committed(at(3))
    assert (status.facts().waiting_ms, status.facts().delivered_ms) == (1_000, 0)
    book.acknowledged(at(1), 2)
    assert (book.waiting_ms, status.facts().waiting_ms) == (3_000, 3_000)
    book.acknowledged(at(3), 2)
    assert book.waiting_ms == 0
    assert (status.facts().waiting_ms, status.facts().delivered_ms) == (0, 4_000)


def test_a_heartbeat_or_a_row_of_a_snapshot_is_no_change_that_waits() -> None:
    """The position of an idle source moves, and its last event is old: that is no lag."""
    status = PipelineStatus(lambda: 9_000)
    book = DeliveryProgress(Checkpoint(at(0), 1), DeliveryCounters(), status)
    book.writing(Batch([], at(1), True, source_ms=5))
    book.writing(Batch([("t", b"k", b"v", b"p", 0, ())], at(1), True, 1, 0, 10))
    assert book.waiting_ms == 0
    book.committed(at(1))
    book.acknowledged(at(1), 2)
    assert status.facts().delivered_ms == 0


@given(st.lists(st.integers(1, 50), min_size=1, max_size=30), st.data())
def test_whatever_is_skipped_in_acknowledging_the_totals_add_up(rows: list[int], data: st.DataObject) -> None:
    book = delivery()
    for number, count in enumerate(rows, 1):
        book.written(Batch([], at(number), True, count, 1, count * 10, 5))
        book.committed(at(number))
    done = 0
    while done < len(rows):
        done = data.draw(st.integers(done + 1, len(rows)))
        book.acknowledged(at(done), 2)
        assert book.last.position == at(done)
        assert book.figures.rows == book.last.rows == sum(rows[:done])
        assert book.figures.bytes == 10 * sum(rows[:done])
