"""Orders of snapshots, one after the other, and what a pipeline makes of them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from replicator.errors import ConfigError
from replicator.model.position import Position
from replicator.model.snapshot import OpenTable, SnapshotProgress
from replicator.model.snapshot_orders import (
    MOST,
    SnapshotOrders,
    before_initial,
    following,
    pause,
    request_of,
    start,
    stop,
    taken_up,
    waiting,
)

NONE = SnapshotOrders()
T = "shop.item"
HERE = Position("b.1", 400)


def asked(orders: SnapshotOrders = NONE, progress: SnapshotProgress | None = None) -> SnapshotOrders:
    return start(orders, progress, [T], "", 0, 5)


def ended(name: str, step: int = 0) -> SnapshotProgress:
    return SnapshotProgress(name, 1, step, ended_ms=9)


def test_numbers_rise_also_over_orders_that_are_lost() -> None:
    first = asked()
    assert [request.id for request in asked(first).requests] == ["order-1", "order-2"]
    assert asked(NONE, ended("order-7")).last == 8
    assert asked(NONE, ended("initial")).last == 1


def test_what_is_done_is_dropped_with_the_next_order() -> None:
    both = asked(asked())
    assert waiting(both, ended("order-1")) == both.requests[1:]
    assert waiting(both, SnapshotProgress("order-1", 1)) == both.requests
    assert waiting(both, ended("initial")) == both.requests
    assert [request.number for request in asked(both, ended("order-2")).requests] == [3]


def test_they_are_taken_one_after_the_other() -> None:
    both = asked(asked())
    begun = taken_up(HERE, both, 77, initial=False)
    assert begun.snapshot == SnapshotProgress("order-1", 77, file="b.1", offset=400)
    assert taken_up(begun, both, 78, initial=False) is begun and following(both, begun.snapshot) is None
    over = replace(begun, snapshot=replace(begun.snapshot, step=4, ended_ms=80))
    second = taken_up(over, both, 81, initial=False).snapshot
    assert second is not None and (second.id, second.step, second.rows) == ("order-2", 5, 0), "ahead at one place"
    done = replace(over, snapshot=ended("order-2", step=9))
    assert taken_up(done, both, 90, initial=False) is done


def test_behind_the_initial_one() -> None:
    running = replace(HERE, snapshot=SnapshotProgress("initial", 1))
    assert taken_up(running, asked(), 9, initial=True) is running
    over = replace(HERE, snapshot=ended("initial", step=3))
    after = taken_up(over, asked(), 9, initial=True).snapshot
    assert after is not None and after.id == "order-1"


def test_one_that_is_stopped_ends_and_says_so() -> None:
    table = OpenTable(T, ("id",), rows=3)
    progress = SnapshotProgress("order-1", 1, 6, tables=1, open=table, rows=3, estimate=8)
    both = asked(asked())
    over = stop(pause(both, paused=True), progress)
    assert (over.requests, over.paused, over.stopped) == ((), False, 3)
    position = taken_up(replace(HERE, snapshot=progress), over, 50, initial=False)
    assert position.snapshot == replace(progress, step=7, open=None, ended_ms=50, stopped=True)
    assert taken_up(position, over, 51, initial=False) is position
    third = asked(over, position.snapshot)
    begun = taken_up(position, third, 52, initial=False).snapshot
    assert begun is not None and (begun.id, begun.stopped) == ("order-4", False)


def test_the_initial_one_can_be_stopped_too() -> None:
    initial = SnapshotProgress("initial", 1)
    over = stop(NONE, initial)
    position = taken_up(replace(HERE, snapshot=initial), over, 50, initial=True)
    assert position.snapshot is not None and position.snapshot.stopped


def test_the_initial_one_can_be_stopped_before_the_task_has_a_position() -> None:
    for before in (NONE, pause(asked(), paused=True)):
        over = stop(before, None)
        initial = SnapshotProgress("initial", 1, after=before_initial(over))
        position = taken_up(replace(HERE, snapshot=initial), over, 50, initial=True)
        assert position.snapshot is not None and (position.snapshot.id, position.snapshot.stopped) == ("initial", True)
        behind = asked(over)
        assert before_initial(behind) == initial.after
        begun = taken_up(replace(HERE, snapshot=initial), behind, 50, initial=True).snapshot
        assert begun is not None and (begun.id, begun.ended_ms) == (behind.requests[0].id, 0)


def test_an_initial_one_that_begins_later_was_not_stopped() -> None:
    over = stop(NONE, SnapshotProgress("initial", 1))
    again = replace(HERE, snapshot=SnapshotProgress("initial", 70, after=over.last))
    assert taken_up(again, over, 71, initial=True) is again
    assert asked(over, again.snapshot).requests[0].number == 2


def test_what_came_before_the_initial_one_is_part_of_it() -> None:
    orders = asked(asked())
    assert waiting(orders, SnapshotProgress("initial", 1, after=1)) == orders.requests[1:]
    assert waiting(orders, replace(ended("initial"), after=2)) == ()


def test_what_nobody_wants_any_more_ends() -> None:
    for name, initial in (("initial", False), ("order-4", True)):
        position = taken_up(replace(HERE, snapshot=SnapshotProgress(name, 1)), NONE, 50, initial=initial)
        assert position.snapshot is not None and position.snapshot.stopped, name


def test_a_request_is_found_by_its_snapshot() -> None:
    orders = start(NONE, None, ["shop.b", "shop.a", "shop.b"], " id > 5 ", 10, 7)
    request = request_of(orders, SnapshotProgress("order-1", 1))
    assert request is not None
    assert (request.tables, request.where, request.chunk_rows) == (("shop.a", "shop.b"), "id > 5", 10)
    assert request_of(orders, SnapshotProgress("initial", 1)) is None


@pytest.mark.parametrize(
    ("tables", "where", "rows"),
    [
        ([], "", 0),
        ([T] * 101, "", 0),
        (["item"], "", 0),
        (["shop.*"], "", 0),
        (["!shop.item"], "", 0),
        (["shop."], "", 0),
        ([T], " ", 0),
        ([T], "id > 5; DROP TABLE x", 0),
        ([T], "x" * 5000, 0),
        ([T], "", -1),
        ([T], "", 2_000_000),
    ],
)
def test_what_can_not_be_ordered(tables: list[str], where: str, rows: int) -> None:
    with pytest.raises(ConfigError, match="E1003"):
        start(NONE, None, tables, where, rows, 5)


def test_no_more_than_a_znode_holds() -> None:
    orders = NONE
    for _ in range(MOST):
        orders = asked(orders)
    with pytest.raises(ConfigError, match="too many"):
        asked(orders)
    assert asked(orders, ended("order-4")).last == MOST + 1
