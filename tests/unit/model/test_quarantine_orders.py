"""Orders of operators, one after the other, and what a worker makes of them."""

from __future__ import annotations

import pytest

from replicator.errors import ConfigError
from replicator.model.position import Position
from replicator.model.quarantine import Quarantined, TaskOrders, left_out, marked
from replicator.model.quarantine_orders import MOST, forked, put, release, replay

A, B, C = (Position("b.1", offset) for offset in (100, 200, 300))
T = "shop.t"
NOTHING = TaskOrders()


def test_put_release_put() -> None:
    first = put(NOTHING, (), T, 50)
    assert put(first, (), T, 60) is first
    marks = marked((), first, A, 55)
    over = release(first, marks, T, 70)
    assert (over.tables, over.mended) == ({}, {T: 50})
    marks = marked(marks, over, B, 75)
    assert left_out(marks) == frozenset()
    again = put(over, marks, T, 40)
    assert again.tables[T] == 51, "also with a clock that went back"
    marks = marked(marks, again, C, 80)
    assert left_out(marks) == {T} and [mark.since for mark in marks] == [A, C]


def test_a_release_before_anybody_took_it_up() -> None:
    over = release(put(NOTHING, (), T, 50), (), T, 60)
    late = marked((), TaskOrders({T: 50}), A, 99)
    assert left_out(marked(late, over, B, 100)) == frozenset()
    assert left_out(marked((), over, B, 100)) == frozenset()


def test_what_an_error_put_there_is_released_by_its_time() -> None:
    marks = (Quarantined(T, A, None, 7, {"code": "E2304"}),)
    over = release(NOTHING, marks, T, 60)
    assert over.mended == {T: 7} and left_out(marked(marks, over, B, 61)) == frozenset()
    assert release(over, marked(marks, over, B, 61), T, 70) is over, "it is in no quarantine any more"


def test_replay_of_one_that_lasts_and_of_none() -> None:
    first = put(NOTHING, (), T, 50)
    assert replay(first, (), T, 60) is None, "nothing of it was left out yet"
    marks = marked((), first, A, 55)
    asked = replay(first, marks, T, 60)
    assert asked is not None and (asked.tables, asked.replay) == ({}, {T: 50})
    assert marked(marks, asked, B, 61) == marks and asked.is_due(marks[0])
    back = put(asked, marks, T, 70)
    assert back.replay == {} and not back.is_due(marks[0])
    over = release(asked, marks, T, 70)
    assert over.replay == {} and not over.lasts(marks[0]), "the last order counts"


def test_orders_of_tables_without_marks_go_after_a_while() -> None:
    old = TaskOrders(mended={"shop.gone": 5, T: 5}, replay={"shop.gone": 5})
    marks = (Quarantined(T, A, B, 5),)
    kept = put(old, marks, "shop.other", 10_000_000)
    assert kept.mended == {T: 5} and kept.replay == {}
    assert put(old, marks, "shop.other", 6).mended == old.mended


@pytest.mark.parametrize("table", ["", "t", "shop.*", "!shop.t", "shop.", ".t", "shop.t?", "s.\0", "s." + 300 * "t"])
def test_one_table_is_named_in_full(table: str) -> None:
    for order in (put, release):
        with pytest.raises(ConfigError) as caught:
            order(NOTHING, (), table, 1)
        assert caught.value.code == "E1003"


def test_not_too_many() -> None:
    full = TaskOrders({f"shop.t{number}": 1 for number in range(MOST)})
    with pytest.raises(ConfigError):
        put(full, (), T, 2)


def test_a_fork_leaves_the_same_tables_out() -> None:
    assert forked({T, "shop.a"}, 9) == TaskOrders({"shop.a": 9, T: 9})
