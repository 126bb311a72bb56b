"""Net changes in parts: in any order between the parts the result is that of the source, and unique keys hold."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replicator import compiled
from replicator.model import types
from replicator.model.table import Column
from replicator.model.target_table import TargetTable
from replicator.mysql.table_facts import TableFacts
from replicator.sink.mysql import net_layout
from replicator.sink.mysql.division import is_exact
from replicator.sink.mysql.image_values import Layout
from replicator.sink.mysql.net_changes import divided, joined
from replicator.sink.mysql.row_runs import Run
from tests.unit.sink.mysql.test_net_changes import Row, _rows, run

ONE = Layout((4, -1, 2), (0,))
VALUE = Layout((4, -1, 2), (0,), (2,), ((2,),))
NAME = Layout((4, -1, 2), (0,), (1,), ((~1,),))
BOTH = Layout((4, -1, 2), (0,), (1, 2), ((2,), (2, ~1)))
TEXT_KEY = Layout((4, -1, 2), (1,), (), ((~1,),))
NOTHING = Layout((4, -1, 2), (0,), (0, 1, 2), ((),))
DIVIDED = (ONE, VALUE, NAME, BOTH, TEXT_KEY, NOTHING)


def parts(runs: list[Run], layout: Layout, count: int) -> list[list[Run]] | None:
    found = joined(runs, layout, 1 << 20, count)
    if compiled.available():
        assert divided(runs, layout, 1 << 20, count) == found
    return found


def where(found: list[list[Run]] | None) -> dict[tuple[bytes, int], int]:
    """(operation, id) -> part. Of an update the id is that before."""
    assert found is not None
    return {
        (one.operation, row[0]): number
        for number, part in enumerate(found)
        for one in part
        for row in list(_rows(one.images))[:: 2 if one.operation == b"U" else 1]
    }


def many(operation: str, ids: range, name: str = "n", value: int | None = None) -> Run:
    return run(operation, *((number, f"{name}{number}", value if value is None else number) for number in ids))


def test_rows_are_spread() -> None:
    for count in (2, 3, 8):
        found = parts([many("I", range(4000))], ONE, count)
        assert found is not None
        sizes = [sum(one.records for one in part) for part in found]
        assert sum(sizes) == 4000 and max(sizes) - min(sizes) <= 1


def test_rows_that_follow_each_other_are_together() -> None:
    """Also where their keys descend, and where changes that come to nothing are in between."""
    for numbers in (range(400), range(400, 0, -1)):
        nothing = [many(kind, range(1000, 1200)) for kind in "ID"]
        places = where(parts([*nothing, many("I", numbers), *nothing], ONE, 4))
        assert [places[b"I", number] for number in numbers] == [part for part in range(4) for _ in range(100)]


def test_rows_that_meet_are_a_share_of_the_first_part() -> None:
    """With 100 that meet and 300 others each of four parts has 100; with 300 that meet the others share the rest."""
    for meeting, others in ((100, 300), (300, 99)):
        moved: list[Row] = [(number, "x", number % (meeting // 2)) for number in range(meeting)]
        free: list[Row] = [(1000 + number, "x", 1000 + number) for number in range(others)]
        runs = [run("D", *moved[: meeting // 2]), run("I", *moved[meeting // 2 :], *free)]
        found = sorted(Counter(where(parts(runs, VALUE, 4)).values()).items())
        assert found == [(0, meeting), *((part, others // 3) for part in (1, 2, 3))]


def test_rows_that_meet_in_a_unique_value_are_together() -> None:
    """The other rows are free: also 300 deletes and 300 inserts whose values differ."""
    deleted: list[Row] = [(number, "x", number) for number in range(300)]
    inserted: list[Row] = [(1000 + number, "x", 1000 + number) for number in range(300)]
    inserted.append((5000, "y", 7))
    places = where(parts([run("D", *deleted), run("I", *inserted)], VALUE, 4))
    assert places[b"D", 7] == places[b"I", 5000] == 0
    assert len(set(places.values())) == 4


def test_null_meets_nothing() -> None:
    rows: list[Row] = [(number, "x", None) for number in range(300)]
    others: list[Row] = [(1000 + number, "x", None) for number in range(300)]
    assert set(where(parts([run("D", *rows), run("I", *others)], VALUE, 4)).values()) == {0, 1, 2, 3}


@pytest.mark.parametrize("layout", [NAME, NOTHING])
def test_values_that_may_be_equal_with_other_bytes(layout: Layout) -> None:
    """'a' and 'A', and what an expression makes of a row: all deletes and inserts are together, updates are free."""
    changed: list[Row] = [
        row
        for number in range(5000, 5300)
        for row in ((number, f"u{number}", 1), (number, f"u{number}", 2 if layout is NAME else 1))
    ]
    runs = [many("D", range(300)), many("I", range(1000, 1300), "N"), run("U", *changed)]
    places = where(parts(runs, layout, 4))
    assert {part for (operation, _), part in places.items() if operation != b"U"} == {0}
    if layout is NAME:
        assert {part for (operation, _), part in places.items() if operation == b"U"} == {1, 2, 3}
    for alone in (runs[0], runs[1]):
        assert set(where(parts([alone], layout, 4)).values()) == {0, 1, 2, 3}, "nothing to meet"


def test_a_primary_key_of_text() -> None:
    """It is changed from 'a' to 'A': a delete and an insert, which the server takes for the same key."""
    moved = run("U", *(row for number in range(300) for row in ((number, f"a{number}", 1), (number, f"A{number}", 1))))
    assert set(where(parts([moved], TEXT_KEY, 4)).values()) == {0}


def column(index: int, kind: int, collation: int | None = None) -> Column:
    return Column(index, f"C{index}", kind, 0, nullable=True, collation=collation)


def test_what_tells_rows_apart() -> None:
    exact = [types.LONG, types.LONGLONG, types.DATETIME2, types.ENUM, types.BIT]
    assert all(is_exact(column(0, kind)) for kind in exact)
    assert is_exact(column(0, types.VARCHAR, 63))
    inexact = [types.FLOAT, types.DOUBLE, types.NEWDECIMAL, types.BLOB]
    assert not any(is_exact(column(0, kind)) for kind in inexact)
    assert not is_exact(column(0, types.VARCHAR, 255)) and not is_exact(column(0, types.STRING))


def layout_of(primary: tuple[str, ...], **uniques: tuple[str, ...]) -> Layout:
    table = TargetTable("shop", "t", (column(0, types.LONG), column(1, types.VARCHAR, 255), column(2, types.LONG)))
    made = net_layout.layout_of(table, TableFacts("shop", "t", "InnoDB", (), primary, uniques))
    assert made is not None
    return made


def test_keys_of_a_table() -> None:
    assert layout_of(("c0",)).keys == ()
    assert layout_of(("c1",)).keys == ((~1,),)
    assert layout_of(("c0", "c1"), u=("c2",)).keys == ((0, ~1), (2,))
    assert layout_of(("c0",), u=("c1(10)", "c2"), v=("(expression)",), w=("c9",)).keys == ((~1, 2), (), ())
    assert layout_of(("c0",), u=("c2(3)",)).keys == ((~2,),), "a part of a value"


_row = st.tuples(st.integers(0, 6), st.sampled_from([None, "a", "A", "b"]), st.none() | st.integers(0, 4))


class Keyed:
    """A table whose texts are equal without their case."""

    def __init__(self, layout: Layout, rows: list[Row]) -> None:
        self.layout, self.rows = layout, list[Row]()
        for row in rows:
            self.apply(None, row)

    def keys(self, row: Row) -> list[Any]:
        values = (row[0], row[1].lower() if row[1] is not None else None, row[2])
        found: list[Any] = [tuple(values[at] for at in self.layout.key)]
        for key in self.layout.keys:
            columns = [at if at >= 0 else ~at for at in key] if key else [0, 1]
            found.append(None if any(values[at] is None for at in columns) else tuple(values[at] for at in columns))
        return found

    def apply(self, before: Row | None, after: Row | None) -> None:
        """Raises KeyError."""
        rows = list(self.rows)
        if before is not None:
            if before not in rows:
                raise KeyError(before)
            rows.remove(before)
        if after is not None:
            if self.keys(after)[0].count(None):
                raise KeyError(after)
            for row in rows:
                if any(
                    one == other and one is not None
                    for one, other in zip(self.keys(row), self.keys(after), strict=True)
                ):
                    raise KeyError(after)
            rows.append(after)
        self.rows = rows


def _changes_of(part: list[Run]) -> list[tuple[Row | None, Row | None]]:
    found: list[tuple[Row | None, Row | None]] = []
    for one in part:
        rows = list(_rows(one.images))
        if one.operation == b"U":
            found += zip(rows[::2], rows[1::2], strict=True)
        else:
            found += ((row, None) if one.operation == b"D" else (None, row) for row in rows)
    return found


@settings(max_examples=1500, deadline=None)
@given(st.data(), st.sampled_from(DIVIDED), st.sampled_from([2, 3]))
def test_parts_in_any_order(data: st.DataObject, layout: Layout, count: int) -> None:
    table, runs = Keyed(layout, []), list[Run]()

    def change(most: int) -> None:
        for _ in range(data.draw(st.integers(0, most))):
            old = data.draw(st.integers(-len(table.rows) - 1, len(table.rows) - 1)) if table.rows else -1
            before = table.rows[old] if old >= 0 else None
            after = data.draw(_row) if before is None or data.draw(st.booleans()) else None
            try:
                table.apply(before, after)
            except KeyError:
                continue
            operation = "I" if before is None else "D" if after is None else "U"
            runs.append(run(operation, *(row for row in (before, after) if row is not None)))

    change(5)
    start = list(table.rows)
    runs.clear()
    change(10)
    found = parts(runs, layout, count) if runs else None
    if found is None:
        return
    left = [_changes_of(part) for part in found]
    again = Keyed(layout, start)
    while any(left):
        parts_left = [part for part in left if part]
        again.apply(*parts_left[data.draw(st.integers(0, len(parts_left) - 1))].pop(0))
    assert sorted(again.rows, key=str) == sorted(table.rows, key=str)
