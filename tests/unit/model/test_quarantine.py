from __future__ import annotations

import msgspec

from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position
from replicator.model.quarantine import Quarantined, TaskOrders, left_out, marked

A, B, C = (Position("b.1", offset) for offset in (100, 200, 300))
PUT, OVER = TaskOrders({"shop.t": 5}), TaskOrders(mended={"shop.t": 5})


def test_a_table_keeps_the_place_where_it_stopped_first() -> None:
    first = marked((), PUT, A, 77)
    assert first == (Quarantined("shop.t", A, None, 5, {}),)
    assert marked(first, PUT, B, 78) == first


def test_its_release_is_a_place_as_well_and_it_may_come_again() -> None:
    over = marked(marked((), PUT, A, 77), OVER, B, 78)
    assert over == (Quarantined("shop.t", A, B, 5, {}),)
    again = marked(over, TaskOrders({"shop.t": 9}, {"shop.t": 5}), C, 79)
    assert again == (*over, Quarantined("shop.t", C, None, 9, {}))


def test_no_word_of_it_ends_nothing() -> None:
    """A configuration that is applied again, a node that somebody deleted, a version that knows nothing of orders."""
    first = marked((), PUT, A, 77)
    assert marked(first, TaskOrders(), B, 78) == first
    older = (Quarantined("shop.t", A, None, 5),)
    assert marked(older, TaskOrders(), B, 78) == older, "None is what earlier versions wrote for an operator's choice"


def test_an_earlier_version_takes_an_operators_mark_for_one_that_lasts() -> None:
    """It ends those that have no error as soon as its configuration does not name them."""
    (mark,) = marked((), PUT, A, 77)
    stored = msgspec.json.decode(msgspec.json.encode(Checkpoint(A, quarantined=(mark,))), type=Checkpoint)
    assert stored.quarantined[0].error is not None


def test_who_takes_an_order_up_late_begins_nothing_that_is_over() -> None:
    late = marked((), PUT, A, 99_999)  # by a worker whose clock is ahead, after the release was ordered
    (mark,) = marked(late, OVER, B, 78)
    assert mark.until == B


def test_those_that_are_over_do_not_pile_up_and_those_that_last_are_all_kept() -> None:
    marks: tuple[Quarantined, ...] = ()
    for time in range(1, 51):
        marks = marked(marks, TaskOrders({"shop.t": time}), A, 1)
        marks = marked(marks, TaskOrders(mended={"shop.t": time}), B, 1)
    assert len(marks) == 20
    tables = {f"shop.t{number:03}": 1 for number in range(60)}
    assert [mark.table for mark in marked(marks, TaskOrders(tables), C, 1)][20:] == list(tables)


def test_an_error_keeps_a_table_out_until_it_is_released() -> None:
    errors = {"shop.t": {"code": "E2304"}}
    first = marked((), TaskOrders(), A, 5, errors)
    assert first == (Quarantined("shop.t", A, None, 5, {"code": "E2304"}),)
    assert marked(first, TaskOrders(), B, 6) == first
    assert marked(first, TaskOrders(mended={"shop.t": 4}), B, 6) == first, "that was an earlier time"
    (over,) = marked(first, OVER, B, 6)
    assert over.until == B
    again = marked((over,), OVER, C, 5, errors)
    assert again[1].until is None and again[1].time_ms > 5, "a clock that stands still or goes back"
    assert left_out(again) == {"shop.t"}


def test_an_operator_has_the_last_word() -> None:
    first = marked((), TaskOrders(), A, 5, {"shop.t": {"code": "E2304"}})
    assert marked(first, TaskOrders({"shop.t": 6}, {"shop.t": 5}), B, 6) == first
