"""Which of two positions is the later one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.model.position import Inside, Position
from replicator.model.position_order import compared, reached

A, B = "11111111-2222-3333-4444-555555555555", "99999999-2222-3333-4444-555555555555"
TURNED = {"behind": "ahead", "ahead": "behind", "same": "same", "unknown": "unknown"}


def old(rows: int, event: int, rule: str = "r", file: str = "b.000001", gtid: str = "") -> Position:
    return Position(file, 400, gtid, rows, inside=Inside(rule, event))


@pytest.mark.parametrize(
    ("one", "other", "relation"),
    [
        (Position("b.000001", 4), Position("b.000001", 4), "same"),
        (Position("b.000001", 4), Position("b.000001", 5), "behind"),
        (Position("b.000009", 900), Position("b.000010", 4), "behind"),
        (Position("b.000001", 4), Position("c.000001", 5), "unknown"),
        (Position("b.000001", 9, reset=1), Position("b.000009", 9), "ahead"),
        (Position("b.000009", 4, f"{A}:1-9"), Position("b.000001", 4, f"{A}:1-10"), "behind"),
        (Position("b.000001", 4, f"{A}:1-9"), Position("b.000001", 4, f"{A}:1-5,{B}:1"), "unknown"),
        (Position("b.000001", 4, f"{A}:1-9"), Position("b.000001", 9, f"{A}:1-9"), "behind"),
        (Position("b.000001", 4, f"{A}:1-9"), Position("c.000007", 9, f"{A}:1-9"), "same"),
        (Position("b.000001", 4, f"{A}:1-9"), Position("b.000001", 9), "behind"),
        (Position("b.000001", 4, f"{A}:1-9"), Position("c.000001", 9), "unknown"),
        (Position("b.000001", 4, "0-1-9"), Position("b.000001", 4, "0-1-10,1-1-1"), "behind"),
        (Position("b.000001", 4, "0-1-9"), Position("b.000001", 4, "0-2-9"), "unknown"),
        (Position("b.000001", 4, "0-1-9"), Position("b.000001", 4, f"{A}:1-9"), "unknown"),
        (Position("b.000001", 4, server="S@10"), Position("b.000001", 9, server="S@10/4:10"), "behind"),
        (Position("b.000001", 4, server="S@10"), Position("b.000002", 4, server="T@10"), "unknown"),
        (Position("b.000001", 4, server="S@10"), Position("b.000001", 9, server="S@11"), "unknown"),
        (Position("b.000001", 4, server="S@10"), Position("b.000002", 4), "behind"),
        (Position("b.000009", 4, "0-1-9", server="S@10"), Position("b.000001", 9, "0-1-9", server="T@1"), "same"),
        (old(5, 1), old(6, 1), "behind"),
        (old(5, 9), old(6, 1), "behind"),
        (old(5, 9, "r"), old(6, 1, "other"), "ahead"),
        (old(5, 9), Position("b.000001", 400), "ahead"),
        (old(5, 9), Position("b.000001", 500), "behind"),
        (old(5, 9), Position("b.000001", 400, rows=6), "unknown"),
        (old(5, 9, file="c.000001", gtid="0-1-1"), old(6, 1, gtid="0-1-1"), "behind"),
        (old(5, 9, "x", file="c.000001", gtid="0-1-1"), old(6, 1, gtid="0-1-1"), "unknown"),
    ],
)
def test_each_way_round(one: Position, other: Position, relation: str) -> None:
    assert compared(one, other) == relation
    assert compared(other, one) == TURNED[relation]


gtids = st.one_of(st.just(""), st.integers(1, 4).map(lambda n: f"{A}:1-{n}"), st.just(f"{A}:1-2,{B}:1-2"))
positions = st.builds(
    Position,
    st.sampled_from(["b.000001", "b.000002", "c.000001"]),
    st.sampled_from([4, 400]),
    gtids,
    st.integers(0, 2),
    reset=st.integers(0, 1),
)


@given(positions, positions, positions)
def test_it_is_an_order(one: Position, other: Position, third: Position) -> None:
    assert compared(one, one) == "same"
    assert compared(one, other) == TURNED[compared(other, one)]
    same_kind = bool(one.gtid) == bool(other.gtid) == bool(third.gtid) and one.log == other.log == third.log
    if same_kind and compared(one, other) == compared(other, third) == "ahead":
        assert compared(one, third) == "ahead"


@pytest.mark.parametrize(
    ("position", "goal", "there"),
    [
        (Position("b.000001", 4), Position("b.000001", 4), True),
        (Position("b.000001", 4), Position("b.000002", 4), False),
        (Position("b.000001", 4, f"{A}:1-9"), Position("c.000009", 4, f"{A}:1-9"), True),
        (Position("b.000009", 4, f"{A}:1-8"), Position("b.000001", 4, f"{A}:1-9"), False),
        (Position("b.000001", 4, f"{A}:1-9,{B}:1"), Position("b.000009", 4, f"{A}:1-9"), True),
        (Position("b.000001", 4, "0-1-9,1-1-3"), Position("b.000009", 4, "0-1-9"), True),
        (Position("b.000009", 4, "0-1-8"), Position("b.000001", 4, "0-1-9"), False),
        (Position("b.000009", 4), Position("b.000001", 4, f"{A}:1-9"), True),
    ],
)
def test_reached(position: Position, goal: Position, there: bool) -> None:
    assert reached(position, goal) == there
