from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.model.position import Position
from replicator.sink.prefix import Prefix


def at(offset: int) -> Position:
    return Position("binlog.000001", offset)


def test_a_mark_waits_for_everything_before_it() -> None:
    prefix = Prefix()
    first, second = prefix.sent(), prefix.sent()
    prefix.mark(at(10))
    prefix.done(second)
    assert prefix.acknowledged is None
    prefix.done(first)
    assert prefix.acknowledged == at(10)


def test_a_mark_after_nothing_is_acknowledged_at_once() -> None:
    prefix = Prefix()
    prefix.mark(at(4))
    assert prefix.acknowledged == at(4)
    assert prefix.settled


def test_a_number_is_done_once() -> None:
    prefix = Prefix()
    number = prefix.sent()
    prefix.done(number)
    for wrong in (number, 7):
        with pytest.raises(ValueError, match="not outstanding"):
            prefix.done(wrong)


def test_memory_is_bounded_by_what_is_outstanding() -> None:
    prefix = Prefix()
    held = prefix.sent()
    for offset in range(1000):
        prefix.mark(at(offset))
    assert len(prefix._marks) == 1
    prefix.done(held)
    for offset in range(1000):
        prefix.done(prefix.sent())
        prefix.mark(at(offset))
    assert not prefix._marks
    assert not prefix._done
    assert prefix.acknowledged == at(999)


@given(st.lists(st.one_of(st.just("send"), st.just("mark"), st.integers(0, 20)), max_size=200))
def test_never_ahead_of_the_gap(steps: list[str | int]) -> None:
    """Against the definition: the last mark such that everything sent before it is done."""
    prefix = Prefix()
    sent: list[int] = []
    done: set[int] = set()
    marks: list[tuple[int, Position]] = []
    for step in steps:
        if step == "send":
            sent.append(prefix.sent())
        elif step == "mark":
            position = at(len(marks))
            marks.append((len(sent), position))
            prefix.mark(position)
        else:
            open_ = [number for number in sent if number not in done]
            if open_:
                number = open_[int(step) % len(open_)]
                done.add(number)
                prefix.done(number)
        wanted = None
        for before, position in marks:
            if all(number in done for number in sent[:before]):
                wanted = position
        assert prefix.acknowledged == wanted
        assert prefix.outstanding == len(sent) - len(done)
