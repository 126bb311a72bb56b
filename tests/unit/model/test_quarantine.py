from __future__ import annotations

from replicator.model.position import Position
from replicator.model.quarantine import Quarantined, marked

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
