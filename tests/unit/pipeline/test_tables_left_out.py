"""Tables that a pipeline leaves out, and what was left out of one that comes back."""

from __future__ import annotations

import msgspec
import pytest

from replicator.checkpoint.memory_store import MemoryStore
from replicator.errors import (
    DecodeError,
    RegistryError,
    ReplicatorError,
)
from replicator.model.batch import Batch
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import CatchUp, Position
from replicator.model.quarantine import Quarantined, TaskOrders
from replicator.pipeline.quarantine import Quarantine
from tests.support.scripted import Bench, Recorder, Script, part, whole


def test_where_a_table_stops_is_durable_before_anything_behind_it_is_read() -> None:
    store = MemoryStore(Checkpoint(Position("b.1", 5), 3, rows=40))
    bench = Bench(Script(whole(5)), Recorder(), store, quarantine=Quarantine(TaskOrders({"shop.t": 5})))
    bench.run_until(6)
    first = next(saved for saved in bench.store.saved if saved.quarantined)
    last = bench.store.saved[-1]
    assert [(mark.table, mark.since) for mark in first.quarantined] == [("shop.t", Position("b.1", 5))]
    assert (first.position.offset, first.rows) == (5, 40)
    assert (last.position.offset, last.rows, last.quarantined) == (6, 41, first.quarantined)
    unsaid = Bench(Script(whole(6)), Recorder(), MemoryStore(last))
    unsaid.run_until(7)
    assert unsaid.store.saved[-1].quarantined == first.quarantined, "no word of it releases nothing"
    over = Quarantine(TaskOrders(mended={"shop.t": 5}))
    again = Bench(Script(whole(6)), Recorder(), MemoryStore(last), quarantine=over)
    again.run_until(7)
    (mark,) = again.store.saved[-1].quarantined
    assert (mark.since, mark.until) == (Position("b.1", 5), Position("b.1", 6))


def test_a_transaction_is_begun_again_where_its_rows_are_counted_differently_now() -> None:
    sink = Recorder(held=Position("b.1", 5, rows=7))
    bench = Bench(
        Script(whole(5)),
        sink,
        MemoryStore(Checkpoint(Position("b.1", 5), 3)),
        quarantine=Quarantine(TaskOrders({"shop.t": 5})),
    )
    bench.run_until(6)
    assert bench.source.opened == [Position("b.1", 5, reset=1)]
    saved = bench.store.saved[-2]
    after = Bench(
        Script(whole(5)),
        Recorder(held=Position("b.1", 5, rows=7)),
        MemoryStore(saved),
        quarantine=Quarantine(TaskOrders({"shop.t": 5})),
    )
    after.run_until(6)
    assert after.source.opened == [Position("b.1", 5, reset=1)]


def unreadable(table: str = "shop.t") -> DecodeError:
    return DecodeError("E2304", "rows lack columns", table=table)


def test_a_table_that_stops_the_task_is_left_out_when_it_is_told_so() -> None:
    quarantine = Quarantine(by_error=True)
    script = Script(whole(5), unreadable(), whole(6))
    bench = Bench(script, Recorder(), MemoryStore(Checkpoint(Position("b.1", 5), 3)), quarantine=quarantine)
    bench.run_until(7)
    (mark,) = bench.store.saved[-1].quarantined
    assert (mark.table, mark.since, mark.until) == ("shop.t", Position("b.1", 6), None)
    assert mark.error is not None and mark.error["code"] == "E2304"
    assert quarantine.tables == {"shop.t"}
    later = Quarantine(by_error=True)
    Bench(Script(whole(7)), Recorder(), MemoryStore(bench.store.saved[-1]), quarantine=later).run_until(8)
    assert later.tables == {"shop.t"}, "whoever comes next knows"


@pytest.mark.parametrize("error", [DecodeError("E2302", "of the stream"), RegistryError("E3303", "", table="shop.t")])
def test_what_is_of_no_single_table_stops_the_task(error: ReplicatorError) -> None:
    bench = Bench(Script(whole(5), error), Recorder(), quarantine=Quarantine(by_error=True))
    with pytest.raises(ReplicatorError) as raised:
        bench.run_until(7)
    assert raised.value.code == error.code


def test_a_table_that_is_left_out_and_stops_the_task_all_the_same_stops_it() -> None:
    bench = Bench(Script(whole(5), unreadable(), unreadable()), Recorder(), quarantine=Quarantine(by_error=True))
    with pytest.raises(DecodeError):
        bench.run_until(7)


def replayed(
    sink: Recorder, store: MemoryStore, *items: Batch | Exception | tuple[Batch, ...], by_error: bool = False
) -> Bench:
    quarantine = Quarantine(TaskOrders(replay={"shop.t": 9}), by_error=by_error)
    return Bench(Script(*items), sink, store, quarantine=quarantine)


def left_at_7() -> MemoryStore:
    return MemoryStore(
        Checkpoint(Position("b.1", 7), 3, quarantined=(Quarantined("shop.t", Position("b.1", 5), None, 9),))
    )


def test_what_was_left_out_of_a_table_comes_before_the_stream_goes_on() -> None:
    bench = replayed(Recorder(), left_at_7(), whole(5), whole(6), whole(7))
    bench.run_until(8)
    assert bench.source.opened == [Position("b.1", 5), Position("b.1", 7)]
    (mark,) = bench.store.saved[-1].quarantined
    assert (mark.since.offset, mark.until, mark.replayed) == (5, Position("b.1", 7), True)
    last = bench.store.saved[-1].position
    assert (last.offset, last.catch_up) == (8, None)


def test_a_large_transaction_of_a_catch_up_is_committed_in_parts() -> None:
    """Its place in the transaction is that of the catch-up: the stream's own position stays at a boundary."""
    large = (part(5, 3, size=2 << 20), part(5, 6, size=2 << 20), part(5, 9, size=2 << 20), whole(5))
    bench = Bench(
        Script(*large, whole(6), whole(7)),
        Recorder(),
        left_at_7(),
        quarantine=Quarantine(TaskOrders(replay={"shop.t": 9})),
        max_transaction_bytes=4 << 20,
    )
    bench.run_until(8)
    parts = [saved.position.catch_up.at.rows for saved in bench.store.saved if saved.position.catch_up]
    assert 6 in parts


def test_a_catch_up_that_is_cut_off_goes_on_where_the_sink_says() -> None:
    held = Position("b.1", 7, catch_up=CatchUp("shop.t", 9, Position("b.1", 6)))
    bench = replayed(Recorder(held), left_at_7(), whole(6), whole(7))
    bench.run_until(8)
    assert bench.source.opened == [Position("b.1", 6), Position("b.1", 7)]
    over = Recorder(msgspec.structs.replace(held, catch_up=CatchUp("shop.t", 9, Position("b.1", 7), done=True)))
    again = replayed(over, left_at_7(), whole(7))
    again.run_until(8)
    assert again.source.opened == [Position("b.1", 7)]
    assert again.store.saved[-1].quarantined[0].replayed


def test_a_table_that_is_still_ill_stays_where_it_was_met_again() -> None:
    error = DecodeError("E2304", "rows lack columns", table="shop.t")
    bench = replayed(Recorder(), left_at_7(), whole(5), error, whole(7), by_error=True)
    bench.run_until(8)
    (mark,) = bench.store.saved[-1].quarantined
    assert (mark.since.offset, mark.until, mark.error and mark.error["code"]) == (6, None, "E2304")
    assert mark.time_ms > 9, "so that it is not the time that was to be replayed"
    assert bench.source.opened[-1] == Position("b.1", 7, reset=1)


def test_a_table_that_is_still_ill_before_anything_of_it_was_committed() -> None:
    """Nothing durable says that the catch-up began: it must not begin again for ever."""
    error = DecodeError("E2304", "rows lack columns", table="shop.t")
    bench = replayed(Recorder(), left_at_7(), error, whole(7), by_error=True)
    bench.run_until(8)
    (mark,) = bench.store.saved[-1].quarantined
    assert (mark.since.offset, mark.until, mark.error and mark.error["code"]) == (5, None, "E2304")
    assert mark.time_ms > 9
    assert [position.offset for position in bench.source.opened] == [5, 7]


def test_a_release_while_it_is_delivered_leaves_the_rest_out() -> None:
    """What was delivered counts, and the rest can be had by a replay of its own."""
    held = Position("b.1", 7, catch_up=CatchUp("shop.t", 9, Position("b.1", 6)))
    released = Quarantine(TaskOrders(mended={"shop.t": 9}))
    bench = Bench(Script(whole(7)), Recorder(held), left_at_7(), quarantine=released)
    bench.run_until(8)
    assert bench.source.opened == [Position("b.1", 7, reset=1)]
    (mark,) = bench.store.saved[-1].quarantined
    assert (mark.since.offset, mark.until and mark.until.offset, mark.replayed) == (6, 7, False)
    assert bench.store.saved[-1].position.catch_up is None


def test_an_operator_who_leaves_it_out_again_meanwhile_names_the_next_time() -> None:
    held = Position("b.1", 7, catch_up=CatchUp("shop.t", 9, Position("b.1", 6)))
    bench = Bench(Script(whole(7)), Recorder(held), left_at_7(), quarantine=Quarantine(TaskOrders({"shop.t": 20})))
    bench.run_until(8)
    (mark,) = bench.store.saved[-1].quarantined
    assert (mark.since.offset, mark.until, mark.time_ms) == (6, None, 20)
