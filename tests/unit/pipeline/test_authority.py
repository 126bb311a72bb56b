"""Where a session goes on when the sink and lastCommit each hold a position."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.errors import SinkError
from replicator.model.checkpoint import Checkpoint, with_unseen
from replicator.model.position import CatchUp, Inside, Place, Position
from replicator.model.position_order import compared
from replicator.model.quarantine import Quarantined
from replicator.model.snapshot import SnapshotProgress
from replicator.pipeline.authority import authority
from tests.unit.model.test_position_order import A, B, positions

EARLY, LATE = Position("b.000001", 400, f"{A}:1-5"), Position("b.000001", 900, f"{A}:1-9")


def test_a_sink_without_a_position_leaves_it_to_the_checkpoint() -> None:
    assert authority(None, Checkpoint(LATE, in_sink=True)) == LATE


@pytest.mark.parametrize("in_sink", [None, True])
def test_a_sink_that_is_ahead_goes_before_the_checkpoint(in_sink: bool | None) -> None:
    assert authority(LATE, Checkpoint(EARLY, in_sink=in_sink)) == LATE


@pytest.mark.parametrize("in_sink", [None, False])
def test_what_another_sink_has_delivered_meanwhile_is_not_delivered_again(in_sink: bool | None) -> None:
    """exactly_once, then at_least_once, then exactly_once: the position topic is as old as the first of them."""
    assert authority(EARLY, Checkpoint(LATE, in_sink=in_sink)) == LATE


def test_what_was_sent_again_is_sent_to_its_end() -> None:
    """at_least_once began at a lastCommit that was behind what exactly_once had committed, and sent some of it again:
    to go on at the sink's position would leave keys at values that are older than the last ones before."""
    assert authority(LATE, Checkpoint(EARLY, in_sink=False)) == EARLY


@pytest.mark.parametrize("rows", [False, True])
def test_a_sink_that_is_ahead_of_a_restored_position_says_what_nobody_has_followed(rows: bool) -> None:
    """Tables may have been changed since the backup, and its schema history does not have it."""
    restored = with_unseen(Checkpoint(EARLY, in_sink=True))
    chosen = authority(LATE, restored, rows=rows)
    assert chosen.gtid == LATE.gtid and chosen.unseen == Place(EARLY.file, EARLY.offset, EARLY.gtid)
    assert authority(EARLY, restored, rows=rows).unseen in (None, Place(EARLY.file, EARLY.offset, EARLY.gtid))
    ordered = msgspec.structs.replace(LATE, reset=3)
    assert authority(ordered, restored, rows=rows).unseen == Place(EARLY.file, EARLY.offset, EARLY.gtid)


def test_a_restored_position_keeps_what_an_operator_had_skipped() -> None:
    before = Place("b.000001", 4, f"{A}:1")
    known = Checkpoint(msgspec.structs.replace(EARLY, unseen=before))
    assert with_unseen(known) == known


def test_a_sink_that_has_lost_what_it_had_committed_stops_the_task() -> None:
    with pytest.raises(SinkError) as caught:
        authority(EARLY, Checkpoint(LATE, in_sink=True))
    assert caught.value.code == "E3114"
    assert str(EARLY) in caught.value.found and "task position set" in caught.value.fix


def test_an_ordered_position_goes_before_both() -> None:
    ordered = msgspec.structs.replace(EARLY, reset=1)
    assert authority(LATE, Checkpoint(ordered, in_sink=True)) == ordered
    assert authority(ordered, Checkpoint(LATE, in_sink=True)) == ordered


@pytest.mark.parametrize("in_sink", [None, True])
def test_positions_that_can_not_be_compared_stop_the_task(in_sink: bool) -> None:
    other = Position("b.000001", 900, f"{A}:1-4,{B}:1")
    with pytest.raises(SinkError) as caught:
        authority(other, Checkpoint(EARLY, in_sink=in_sink))
    assert caught.value.code == "E3114"


def behind(table: str, at: Position, time_ms: int = 1, *, done: bool = False) -> Position:
    return msgspec.structs.replace(LATE, catch_up=CatchUp(table, time_ms, at, done))


@pytest.mark.parametrize(
    ("held", "known", "the_sinks"),
    [
        (behind("s.t", EARLY), LATE, True),
        (LATE, behind("s.t", EARLY), False),
        (behind("s.t", LATE), behind("s.t", EARLY), True),
        (behind("s.t", EARLY), behind("s.t", LATE), False),
        (behind("s.t", LATE, done=True), behind("s.t", LATE), True),
        (behind("s.t", LATE), behind("s.t", LATE, done=True), False),
        (behind("s.u", EARLY), behind("s.t", LATE), True),
    ],
)
def test_catching_up_at_one_place_of_the_stream(held: Position, known: Position, the_sinks: bool) -> None:
    assert authority(held, Checkpoint(known)) == (held if the_sinks else known)


def test_the_second_table_to_be_caught_up_with() -> None:
    over = Quarantined("s.t", EARLY, LATE, time_ms=1)
    known = Checkpoint(behind("s.u", EARLY, 2), quarantined=(over,))
    assert authority(behind("s.t", LATE, done=True), known) == known.position


@given(positions, positions, st.sampled_from([None, True]))
def test_it_never_takes_the_one_that_is_behind(held: Position, known: Position, in_sink: bool | None) -> None:
    try:
        chosen = authority(held, Checkpoint(known, in_sink=in_sink))
    except SinkError:
        relation = compared(held, known)
        assert relation == "unknown" or (relation == "behind" and in_sink and held.reset == known.reset)
        return
    assert chosen in (held, known)
    assert compared(chosen, held) in ("same", "ahead")
    assert compared(chosen, known) in ("same", "ahead")


class Log:
    """A log whose rows are numbers, a topic, and where sink and lastCommit say that the task is."""

    def __init__(self) -> None:
        self.topic: list[int] = []
        self.held: Position | None = None
        self.known = Checkpoint(Position("b.000001", 0))

    def session(self, transactional: bool, rows: int, saved: int, unacknowledged: int) -> None:
        """`rows` are committed, lastCommit knows of `saved` of them, `unacknowledged` more were sent before a crash."""
        start = authority(self.held if transactional else None, self.known)
        moved = [msgspec.structs.replace(start, offset=start.offset + more) for more in (0, saved, rows)]
        if transactional:
            self.held = moved[2]
        else:
            rows += unacknowledged
        self.topic += range(start.offset, start.offset + rows)
        self.known = Checkpoint(moved[1], in_sink=transactional)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5), st.integers(0, 5), st.integers(0, 5)), max_size=8))
def test_over_any_changes_of_delivery_and_crashes_no_row_is_passed(
    sessions: list[tuple[bool, int, int, int]],
) -> None:
    """Whatever is sent after a row is its successor, or an older one, from which all is sent again: so the last record
    of each key is the last one of the source."""
    log = Log()
    for transactional, rows, saved, more in sessions:
        before = len(log.topic)
        log.session(transactional, rows, min(saved, rows), more)
        again = [row for row in log.topic[before:] if row in log.topic[:before]]
        only_this = all(each[0] for each in sessions)
        assert not (only_this and again), "exactly_once repeats nothing"
    for one, other in zip(log.topic, log.topic[1:], strict=False):
        assert other <= one + 1
    assert not log.topic or log.topic[0] == 0


def test_inside_a_transaction_that_two_configurations_have_counted() -> None:
    one = Position("b.000001", 400, rows=9, inside=Inside("old", 3))
    other = Position("b.000001", 400, rows=4, inside=Inside("new", 5))
    assert authority(one, Checkpoint(other)) == other
    assert authority(other, Checkpoint(one)) == other


def _read(step: int, begun_ms: int = 7) -> SnapshotProgress:
    return SnapshotProgress("initial", begun_ms, step)


def test_rows_of_a_snapshot_that_the_sink_has_are_not_read_again() -> None:
    """At one place of the stream; and behind a position that an operator has set by an older lastCommit."""
    older, later = Position("b.1", 100, snapshot=_read(3)), Position("b.1", 100, snapshot=_read(4))
    assert authority(later, Checkpoint(older, in_sink=True)) == later
    assert authority(older, Checkpoint(later, in_sink=True)) == later
    moved = Position("b.1", 50, reset=1, snapshot=_read(3))
    assert authority(later, Checkpoint(moved, in_sink=True)) == Position("b.1", 50, reset=1, snapshot=_read(4))


def test_another_snapshot_s_rows_do_not_count() -> None:
    later, moved = Position("b.1", 100, snapshot=_read(9)), Position("b.1", 50, reset=1, snapshot=_read(3, begun_ms=8))
    assert authority(later, Checkpoint(moved, in_sink=True)) == moved


@pytest.mark.parametrize(
    "lost", [EARLY, msgspec.structs.replace(LATE, reset=0), msgspec.structs.replace(EARLY, reset=1)]
)
def test_rows_that_a_target_lacks_are_sent_again(lost: Position) -> None:
    """A server that lacks the last transactions has taken the place of the one that acknowledged them."""
    known = Checkpoint(msgspec.structs.replace(LATE, reset=1), in_sink=True)
    begins = authority(lost, known, rows=True)
    assert begins == msgspec.structs.replace(lost, reset=2)
    assert compared(begins, known.position) == "ahead"  # lastCommit takes it
    again = Checkpoint(begins, in_sink=True)
    assert authority(begins, again, rows=True) == begins


def test_a_target_that_is_ahead_goes_before_the_checkpoint() -> None:
    assert authority(LATE, Checkpoint(EARLY, in_sink=True), rows=True) == LATE
    assert authority(LATE, Checkpoint(LATE, in_sink=True), rows=True) == LATE


def test_a_target_without_the_position_that_it_had_stops_the_task() -> None:
    with pytest.raises(SinkError) as caught:
        authority(None, Checkpoint(LATE, in_sink=True), rows=True)
    assert caught.value.code == "E3412"


def test_a_target_of_another_history_stops_the_task() -> None:
    other = Position("b.000001", 900, f"{A}:1-4,{B}:1")
    with pytest.raises(SinkError, match="E3114"):
        authority(other, Checkpoint(EARLY, in_sink=True), rows=True)


def test_an_ordered_position_goes_before_that_of_a_target() -> None:
    """The order takes the mark away that the target has it."""
    ordered = msgspec.structs.replace(EARLY, reset=1)
    assert authority(LATE, Checkpoint(ordered), rows=True) == ordered
    assert authority(None, Checkpoint(ordered), rows=True) == ordered
