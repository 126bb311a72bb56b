from __future__ import annotations

from replicator.model.position import Position
from replicator.model.quarantine import Quarantined, left_out, marked

A, B, C = (Position("b.1", offset) for offset in (100, 200, 300))


def test_a_table_keeps_the_place_where_it_stopped_first() -> None:
    first = marked((), ["shop.t"], A, 5)
    assert first == (Quarantined("shop.t", A, None, 5),)
    assert marked(first, ["shop.t"], B, 6) == first


def test_its_release_is_a_place_as_well_and_it_may_come_again() -> None:
    over = marked(marked((), ["shop.t"], A, 5), [], B, 6)
    assert over == (Quarantined("shop.t", A, B, 5),)
    assert marked(over, ["shop.t"], C, 7) == (*over, Quarantined("shop.t", C, None, 7))


def test_those_that_are_over_do_not_pile_up_and_those_that_last_are_all_kept() -> None:
    marks: tuple[Quarantined, ...] = ()
    for _ in range(50):
        marks = marked(marked(marks, ["shop.t"], A, 1), [], B, 1)
    assert len(marks) == 20
    tables = [f"shop.t{number:03}" for number in range(60)]
    assert [mark.table for mark in marked(marks, tables, C, 1)][20:] == tables


def test_an_error_keeps_a_table_out_until_it_is_mended() -> None:
    first = marked((), [], A, 5, errors={"shop.t": {"code": "E2304"}})
    assert first == (Quarantined("shop.t", A, None, 5, {"code": "E2304"}),)
    assert marked(first, [], B, 6) == first
    assert marked(first, [], B, 6, mended={"shop.t": 4}) == first, "that was an earlier time"
    (over,) = marked(first, [], B, 6, mended={"shop.t": 5})
    assert over.until == B
    again = marked((over,), [], C, 5, mended={"shop.t": 5}, errors={"shop.t": {"code": "E2304"}})
    assert again[1].until is None and again[1].time_ms > 5, "a clock that stands still or goes back"
    assert left_out(again) == {"shop.t"}


def test_an_operator_has_the_last_word() -> None:
    first = marked((), [], A, 5, errors={"shop.t": {"code": "E2304"}})
    assert marked(first, ["shop.t"], B, 6, mended={"shop.t": 5}) == first
