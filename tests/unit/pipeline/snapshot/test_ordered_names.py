"""New names of tables that operators have ordered."""

from __future__ import annotations

import pytest

from replicator.model.snapshot import Followed
from replicator.pipeline.ports import TableSize
from replicator.pipeline.snapshot.ordered_names import listed, renamed

ORDERS = {"order-1": ("a.x", "a.y"), "order-2": ("a.x",)}


def follow(*steps: tuple[str, str], outside: str = "") -> tuple[Followed, ...]:
    names: tuple[Followed, ...] = ()
    for old, new in steps:
        names = renamed(names, ORDERS, old, new, lambda table: table != outside)
    return names


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        ([("a.x", "a.z")], {("order-1", "a.x", "a.z"), ("order-2", "a.x", "a.z")}),
        ([("a.y", "a.z"), ("a.z", "b.w")], {("order-1", "a.y", "b.w")}),
        ([("a.y", "a.z"), ("a.z", "a.y")], set()),
        ([("a.other", "a.z")], set()),
        ([("a.x", "a.t"), ("a.y", "a.x"), ("a.t", "a.y")],
         {("order-1", "a.x", "a.y"), ("order-1", "a.y", "a.x"), ("order-2", "a.x", "a.y")}),
    ],
)  # fmt: skip
def test_names_follow_renames(steps: list[tuple[str, str]], found: set[tuple[str, str, str]]) -> None:
    assert {(each.id, each.table, each.name) for each in follow(*steps)} == found


def test_a_name_that_the_task_does_not_replicate_is_not_followed() -> None:
    assert follow(("a.y", "b.out"), outside="b.out") == ()


def test_tables_of_an_order() -> None:
    sizes = [TableSize(table, 5, 50) for table in ("a.x", "a.z", "a.w")]
    names = follow(("a.y", "a.z"), ("a.x", "a.w"))
    found = {size.table: size.rows for size in listed(sizes, ORDERS["order-1"], names, "order-1")}
    assert found == {"a.x": 5, "a.z": 5}, "one has the name that was ordered again, the other one has a new name"
    found = {size.table: size.rows for size in listed(sizes, ("a.x", "a.gone"), names, "order-2")}
    assert found == {"a.x": 5, "a.gone": 0}, "its turn comes"
    assert [size.table for size in listed([], ("a.y",), names, "order-1")] == ["a.y"]
