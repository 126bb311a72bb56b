"""Changes of a row joined into one: the sum is the same, in Python and in C, and unique keys hold meanwhile."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replicator import compiled
from replicator.sink.mysql.image_values import Layout
from replicator.sink.mysql.net_changes import joined, net
from replicator.sink.mysql.row_runs import Run

LAYOUT = Layout((4, -1, 2), (0,))
UNIQUE = Layout((4, -1, 2), (0,), (2,))
PAIR = Layout((4, -1, 2), (1, 0))
TOPIC = "shop.t#0"
Row = tuple[int, str | None, int | None]


def image(row: Row) -> bytes:
    number, name, value = row
    nulls = 0xF8 | (2 if name is None else 0) | (4 if value is None else 0)
    parts = [bytes((nulls,)), number.to_bytes(4, "little")]
    if name is not None:
        parts.append(bytes((len(name),)) + name.encode())
    if value is not None:
        parts.append(value.to_bytes(2, "little"))
    return b"".join(parts)


def run(operation: str, *rows: Row) -> Run:
    return Run(TOPIC, operation.encode(), len(rows) // (2 if operation == "U" else 1), b"".join(map(image, rows)))


def both(runs: list[Run], layout: Layout, most: int = 1 << 20) -> list[Run] | None:
    found = joined(runs, layout, most)
    if compiled.available():
        assert net(runs, layout, most) == (None if found is None else found[0])
    return None if found is None else found[0]


A, B, C = (1, "a", 10), (2, "b", 20), (3, None, None)


def test_what_changes_come_to() -> None:
    changed, again = (1, "x", 10), (1, "y", 10)
    assert both([run("I", A, B), run("U", A, changed), run("U", changed, again)], LAYOUT) == [run("I", again, B)]
    assert both([run("U", A, changed), run("D", B), run("U", changed, again)], LAYOUT) == [
        run("D", B),
        run("U", A, again),
    ]
    assert both([run("I", A), run("U", A, changed), run("D", changed)], LAYOUT) == []
    assert both([run("D", A), run("I", B), run("I", again)], LAYOUT) == [run("U", A, again), run("I", B)]
    assert both([run("U", A, changed), run("U", changed, A)], LAYOUT) == []
    moved = (9, "a", 10)
    assert both([run("U", A, moved), run("U", moved, A), run("U", A, moved)], LAYOUT) == [run("D", A), run("I", moved)]
    assert both([run("I", A, B, C)], LAYOUT, most=8) == [run("I", A), run("I", B), run("I", C)]


def test_what_stays_in_its_order() -> None:
    assert both([run("I", A), run("I", A)], LAYOUT) is None, "it is there"
    assert both([run("D", A), run("U", A, A)], LAYOUT) is None, "it is gone"
    assert both([run("U", A, B), run("I", B)], LAYOUT) is None
    assert both([run("I", A), run("U", (1, "other", 10), A)], LAYOUT) is None, "another row than it was"
    assert both([run("I", (1, None, 1))], PAIR) is None, "NULL in a key"
    assert net([run("I", A), Run(TOPIC, b"R", 1, image(B))], LAYOUT, 100) is None
    assert net([run("I", A), Run(TOPIC, b"FI", 1, image(B))], LAYOUT, 100) is None


def test_rows_without_foreign_key_checks_are_joined_among_themselves() -> None:
    assert net([run("FI", A), run("FD", A), run("FI", B)], LAYOUT, 100) == [run("FI", B)]


def test_values_of_unique_keys_do_not_change_hands() -> None:
    """Between the updates both rows would have the same value."""
    swap = [run("U", A, (1, "a", 99)), run("U", B, (2, "b", 10)), run("U", (1, "a", 99), (1, "a", 20))]
    assert both(swap, UNIQUE) is None
    assert both(swap, LAYOUT) is not None
    freed = [run("D", A), run("I", (5, "new", 10)), run("U", B, (2, "x", 20))]
    assert both(freed, UNIQUE) == [run("D", A), run("U", B, (2, "x", 20)), run("I", (5, "new", 10))]
    assert both([run("U", A, (1, "a", None)), run("D", B)], UNIQUE) is None


@pytest.mark.parametrize("damaged", [image(A)[:-1], image(A) + b"\xf8", b"\xf8\x01"])
def test_an_image_that_is_not_whole_is_noticed(damaged: bytes) -> None:
    runs = [Run(TOPIC, b"I", 1, damaged)]
    with pytest.raises(ValueError, match="beyond the end"):
        joined(runs, LAYOUT, 100)
    if compiled.available():
        with pytest.raises(ValueError, match="beyond the end"):
            net(runs, LAYOUT, 100)


class Table:
    """Rows with a primary key, and a unique key over the last column. Raises where the server would."""

    def __init__(self, rows: dict[int, Row]) -> None:
        self.rows = rows

    def apply(self, operation: str, before: Row | None, after: Row | None) -> None:
        if before is not None:
            if self.rows.get(before[0]) != before:
                raise LookupError(before)
            del self.rows[before[0]]
        if after is not None:
            taken = any(row[2] == after[2] is not None for row in self.rows.values())
            if after[0] in self.rows or taken:
                raise KeyError(after)
            self.rows[after[0]] = after

    def run(self, runs: list[Run]) -> None:
        for one in runs:
            rows = list(_rows(one.images))
            operation = one.operation.decode()
            if operation == "U":
                for before, after in zip(rows[::2], rows[1::2], strict=True):
                    self.apply(operation, before, after)
            else:
                for row in rows:
                    self.apply(operation, row if operation == "D" else None, row if operation == "I" else None)


def _rows(images: bytes) -> Any:
    at = 0
    while at < len(images):
        nulls, number = images[at], int.from_bytes(images[at + 1 : at + 5], "little")
        at += 5
        name = value = None
        if not nulls & 2:
            name = images[at + 1 : at + 1 + images[at]].decode()
            at += 1 + images[at]
        if not nulls & 4:
            value = int.from_bytes(images[at : at + 2], "little")
            at += 2
        yield number, name, value


_rows_drawn = st.tuples(st.integers(0, 6), st.sampled_from([None, "", "a", "bb"]), st.none() | st.integers(0, 5))


@settings(max_examples=600, deadline=None)
@given(st.data(), st.sampled_from([LAYOUT, UNIQUE]), st.sampled_from([20, 1 << 20]))
def test_the_sum_is_the_same(data: st.DataObject, layout: Layout, most: int) -> None:
    """Of any changes that a table with these keys takes. Without the unique key in the layout the values are unique."""
    start: dict[int, Row] = {}
    for row in data.draw(st.lists(_rows_drawn, max_size=5)):
        if row[0] not in start and (row[2] is None or all(row[2] != other[2] for other in start.values())):
            start[row[0]] = row
    table, changes = Table(dict(start)), list[Run]()
    for _ in range(data.draw(st.integers(0, 14))):
        operation = data.draw(st.sampled_from("IUD"))
        new = data.draw(_rows_drawn)
        if layout is LAYOUT:
            new = (*new[:2], None)
        old = data.draw(st.sampled_from(sorted(table.rows.values(), key=str))) if table.rows else None
        before, after = (None if operation == "I" else old), (None if operation == "D" else new)
        if operation != "I" and old is None:
            continue
        kept = dict(table.rows)
        try:
            table.apply(operation, before, after)
        except KeyError:
            table.rows = kept
            continue
        given_rows = [row for row in (before, after) if row is not None]
        if changes and changes[-1].operation == operation.encode() and data.draw(st.booleans()):
            changes[-1] = Run(
                TOPIC,
                changes[-1].operation,
                changes[-1].records + 1,
                changes[-1].images + run(operation, *given_rows).images,
            )
        else:
            changes.append(run(operation, *given_rows))
    if not changes:
        return
    found = both(changes, layout, most)
    if layout is LAYOUT and any(row[2] is not None for row in start.values()):
        return  # its other key is not known to it
    if found is not None:
        again = Table(dict(start))
        again.run(found)
        assert again.rows == table.rows
        keys = [(one.operation, row[0]) for one in found for row in _rows(one.images)]
        assert layout is LAYOUT or len(keys) <= 2 * len(set(keys))


_anything = st.lists(
    st.tuples(st.sampled_from("IUD"), st.lists(_rows_drawn, min_size=1, max_size=4)), min_size=1, max_size=12
)


@settings(max_examples=600, deadline=None)
@given(_anything, st.sampled_from([LAYOUT, UNIQUE, PAIR]), st.sampled_from([20, 1 << 20]))
def test_both_agree_about_anything(drawn: Any, layout: Layout, most: int) -> None:
    both([run(operation, *(rows * 2 if operation == "U" else rows)) for operation, rows in drawn], layout, most)


def test_many_rows() -> None:
    rows: list[Row] = [(number, f"name {number}", None) for number in range(5000)]
    changed: list[Row] = [(number, "x", None) for number in range(5000)]
    pairs = [row for pair in zip(rows, changed, strict=True) for row in pair]
    found = both([run("I", *rows), run("U", *pairs), run("D", *changed[::2])], LAYOUT)
    assert found == [run("I", *changed[1::2])]
