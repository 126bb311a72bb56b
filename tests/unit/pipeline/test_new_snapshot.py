"""A task whose position the source has purged, over twins and over two places that hold positions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from replicator.checkpoint.memory_store import MemoryStore
from replicator.coordination.tasks.position_changes import ToFile, move
from replicator.errors import PositionGone, SourceError, SourceUnavailable
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Begin, CatchUp, Position
from replicator.model.position_order import compared
from replicator.model.quarantine import Quarantined
from replicator.model.snapshot import SnapshotProgress
from replicator.model.snapshot_orders import SnapshotOrders, following, start, stop, taken_up, waiting
from replicator.pipeline.authority import authority
from replicator.pipeline.new_snapshot import with_marks, with_new_snapshot
from tests.support.present import present
from tests.support.scripted import Bench, Recorder, Script, ScriptStream, whole
from tests.unit.model.test_position_order import positions

PURGED = PositionGone("E2206", "purged")
OLD = Position("a.0", 70, server="S")


class Purged(Script):
    """What is before file b.1 is purged; the log ends at its byte `end`."""

    end = 0

    def open(self, position: Position) -> ScriptStream:
        if position.file < "b.1":
            self.opened.append(position)
            raise PURGED
        return super().open(position)

    def start_position(self, begin: Begin | None = None) -> Position:
        return Position("b.1", self.end, server="S")


def bench(old: Position = OLD, held: Position | None = None, **options: object) -> Bench:
    store = MemoryStore(Checkpoint(old, in_sink=held is not None, rows=5))
    return Bench(Purged(whole(0)), Recorder(held), store, snapshot_first=True, **options)


def test_it_stops_unless_it_is_configured() -> None:
    with pytest.raises(PositionGone):
        bench().run_until(1)


@pytest.mark.parametrize("held", [None, OLD, replace(OLD, offset=90)])
def test_it_goes_on_at_the_end_of_the_log(held: Position | None) -> None:
    made = bench(held=held, snapshot_again=True)
    made.run_until(1)
    known = next(each for each in made.store.saved if each.position.reset)
    position, progress = known.position, known.position.snapshot
    assert progress is not None
    assert (position.file, position.reset, known.rows >= 5) == ("b.1", 1, True)
    assert (progress.id, progress.file, progress.offset, progress.tables) == ("needed-1", "b.1", 0, 0)
    assert progress.reason == "E2206 purged"
    assert position.unseen is not None and position.unseen.offset == (held or OLD).offset
    assert [error.code for error in made.watcher.errors] == ["E2222"]
    assert made.source.opened[-1].reset == 1


def test_the_decision_is_durable_before_anything_is_delivered() -> None:
    made = bench(held=OLD, snapshot_again=True)
    made.run_until(1)
    first = next(each for each in made.store.saved if each.position.reset)
    assert first.position.offset == 0 and first.position.snapshot is not None
    # A successor that finds the sink's older position beside it, as right behind a crash.
    assert authority(OLD, first) == first.position


def test_the_first_one_is_not_taken_if_it_was_stopped_before() -> None:
    made = Bench(
        Script(whole(0)), Recorder(), MemoryStore(), snapshot_first=True, snapshot_orders=stop(NO_ORDERS, None)
    )
    made.run_until(1)
    assert present(made.store.saved[0].position.snapshot).stopped


def test_it_does_not_begin_again_and_again() -> None:
    class Never(Purged):
        def open(self, position: Position) -> ScriptStream:
            raise PURGED

    made = Bench(Never(), Recorder(), MemoryStore(Checkpoint(OLD)), snapshot_first=True, snapshot_again=True)
    with pytest.raises(PositionGone):
        made.pipeline.run()
    assert [each.position.reset for each in made.store.saved if each.position.reset] == [1]


def test_a_source_that_does_not_answer_at_that_moment() -> None:
    class Away(Purged):
        asked = 0

        def start_position(self, begin: Begin | None = None) -> Position:
            self.asked += 1
            if self.asked == 1:
                raise SourceUnavailable("E2002", "lost")
            return super().start_position()

    store = MemoryStore(Checkpoint(OLD))
    made = Bench(Away(whole(0)), Recorder(), store, snapshot_first=True, snapshot_again=True)
    made.run_until(1)
    assert [each.position.reset for each in store.saved if each.position.reset] == [1]


def test_a_position_that_is_not_known_stops_the_task_as_before() -> None:
    class Other(Purged):
        def open(self, position: Position) -> ScriptStream:
            raise SourceError("E2218", "another server")

    made = Bench(Other(), Recorder(), MemoryStore(Checkpoint(OLD)), snapshot_first=True, snapshot_again=True)
    with pytest.raises(SourceError, match="E2218"):
        made.pipeline.run()


def test_what_was_left_out_of_a_table_can_not_be_replayed_by_it() -> None:
    behind = CatchUp("s.t", 1, replace(OLD, offset=4))
    with pytest.raises(PositionGone):
        bench(replace(OLD, catch_up=behind), snapshot_again=True).run_until(1)


END = Position("c.000009", 4, server="S")


@given(positions, positions, st.sampled_from([None, True, False]))
def test_it_is_ahead_of_all_that_is_held_before(held: Position, known: Position, in_sink: bool | None) -> None:
    """Wherever they are; and what an operator sets afterwards is ahead of it."""
    old = max(held, known, key=lambda position: position.reset)
    new = with_new_snapshot(old, END, SnapshotOrders(), PURGED, 9)
    for before in (held, known):
        assert compared(new, before) == "ahead"
        assert authority(before, Checkpoint(new, in_sink=in_sink)) == new
        assert authority(new, Checkpoint(before, in_sink=in_sink)) == new
    ordered = move(Checkpoint(new), ToFile("c.000002", 4), False, 10).after.position
    assert authority(new, Checkpoint(ordered, in_sink=in_sink)) == ordered
    assert ordered.snapshot == new.snapshot, "the rows are still to be delivered"


def test_rows_of_the_snapshot_before_do_not_count() -> None:
    before = replace(OLD, snapshot=SnapshotProgress("needed-1", 9, 70, tables=2, rows=3))
    new = with_new_snapshot(before, END, SnapshotOrders(), PURGED, 9)
    assert authority(before, Checkpoint(new, in_sink=True)) == new
    assert new.snapshot is not None and (new.snapshot.step, new.snapshot.rows, new.snapshot.id) == (71, 0, "needed-1")


# Between the snapshots that operators order

NO_ORDERS = SnapshotOrders()
INITIAL = SnapshotProgress("initial", 1, ended_ms=9)


def asked(orders: SnapshotOrders = NO_ORDERS, progress: SnapshotProgress | None = None) -> SnapshotOrders:
    return start(orders, progress, ["shop.item"], "", 0, 5)


def needed(orders: SnapshotOrders, before: SnapshotProgress | None) -> SnapshotProgress:
    return present(with_new_snapshot(replace(OLD, snapshot=before), END, orders, PURGED, 9).snapshot)


@pytest.mark.parametrize("before", [None, SnapshotProgress("initial", 1), INITIAL])
def test_it_comes_before_all_that_wait(before: SnapshotProgress | None) -> None:
    both = asked(asked())
    progress = needed(both, before)
    assert not progress.ordered and waiting(both, progress) == both.requests
    assert following(both, progress) is None
    assert present(following(both, replace(progress, ended_ms=9))).id == "order-1"


def test_what_an_order_had_begun_is_begun_again_behind_it() -> None:
    both = asked(asked())
    for at, rest in (("order-1", 2), ("order-1 ended", 1), ("order-2 ended", 0)):
        before = SnapshotProgress(at.partition(" ")[0], 1, ended_ms=9 if "ended" in at else 0)
        progress = needed(both, before)
        for over in (0, 9):
            assert len(waiting(both, replace(progress, ended_ms=over))) == rest, at


def test_a_stop_is_of_those_before_it() -> None:
    """As it is of all tables of the configuration, it could be taken for the one that was stopped already."""
    before = stop(asked(asked()), INITIAL)
    progress = needed(before, INITIAL)
    here = replace(OLD, snapshot=progress)
    assert taken_up(here, before, 9, initial=True) is here
    stopped = stop(before, progress)
    after = present(taken_up(here, stopped, 9, initial=True).snapshot)
    assert after.stopped
    again = replace(OLD, snapshot=needed(stopped, after))
    assert taken_up(again, stopped, 9, initial=True) is again, "the next one is not"
    old = replace(OLD, snapshot=needed(SnapshotOrders(stopped=0), INITIAL))
    assert taken_up(old, SnapshotOrders(stopped=0), 9, initial=True) is old, "as an earlier version stopped"


def test_an_order_of_the_same_moment_is_not_lost() -> None:
    """The Server gives out a number before it knows of the snapshot that has just begun."""
    progress, late = needed(NO_ORDERS, INITIAL), asked(NO_ORDERS, INITIAL)
    assert waiting(late, progress) == waiting(late, replace(progress, ended_ms=9)) == late.requests


def test_it_is_not_wanted_without_a_snapshot_in_the_configuration() -> None:
    here = replace(OLD, snapshot=needed(NO_ORDERS, INITIAL))
    assert present(taken_up(here, NO_ORDERS, 50, initial=False).snapshot).stopped


def test_tables_in_quarantine_stop_where_it_begins() -> None:
    over = Quarantined("s.a", OLD, replace(OLD, offset=80), time_ms=1)
    lasts = Quarantined("s.b", OLD, time_ms=2)
    moved = with_marks(Checkpoint(OLD, quarantined=(over, lasts)), END).quarantined
    assert moved == (over, replace(lasts, since=END))
