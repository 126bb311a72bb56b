"""Decisions about conflicts: what is executed never fails, and does what the policy says."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replicator.sink.mysql.conflicts.resolve import (
    COMPLETE,
    CONVERGE,
    MISSING,
    Comparison,
    Conflict,
    Policy,
    Rule,
    TableRows,
)
from replicator.sink.mysql.image_values import Change, Layout, values

LAYOUT = Layout((1, 1, -1), (0,), (1,))
Row = tuple[int, int | None, str]
"""(key, unique value, text)"""


def image(row: Row) -> bytes:
    key, unique, text = row
    nulls = b"\xfa" if unique is None else b"\xf8"
    return nulls + bytes((key,)) + (b"" if unique is None else bytes((unique,))) + bytes((len(text),)) + text.encode()


def row_of(raw: bytes) -> Row:
    key, unique, text = values(raw, LAYOUT)
    assert key is not None
    assert text is not None
    return key[0], None if unique is None else unique[0], text.decode()


def comparison() -> Comparison:
    """Texts that differ in their case alone are the same; the first byte of the text is the time."""
    return Comparison(
        LAYOUT,
        ((1,),),
        lambda column, value: value,
        lambda column, one, other: column == 2 and one.lower() == other.lower(),
        lambda column, value: (value or b"\0")[0],
    )


class Server:
    """A table with a primary and a unique key. Raises where a server would."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = {row[0]: row for row in rows}

    def execute(self, change: Change) -> None:
        before, after = change
        if before is not None:
            del self.rows[row_of(before)[0]]
        if after is not None:
            row = row_of(after)
            if row[0] in self.rows or (row[1] is not None and row[1] in {other[1] for other in self.rows.values()}):
                raise ValueError(f"duplicate: {row}")
            self.rows[row[0]] = row


def apply(server: Server, changes: Iterable[Change], rule: Rule) -> list[Conflict]:
    rows = TableRows(comparison(), map(image, server.rows.values()))
    met: list[Conflict] = []
    for change in changes:
        done, conflicts = rows.apply(change, rule)
        met += conflicts
        for each in done:
            server.execute(each)
    return met


keys, uniques, texts = st.integers(0, 5), st.none() | st.integers(0, 5), st.sampled_from(["a", "b", "c"])


@st.composite
def tables(draw: st.DrawFn) -> dict[int, Row]:
    found: dict[int, Row] = {}
    for row in draw(st.lists(st.tuples(keys, uniques, texts), max_size=6)):
        taken = {other[1] for other in found.values() if other[1] is not None}
        if row[0] not in found and row[1] not in taken:
            found[row[0]] = row
    return found


@st.composite
def histories(draw: st.DrawFn) -> tuple[dict[int, Row], list[Change], dict[int, Row]]:
    """Rows before, changes that a server would have logged, rows after."""
    before = draw(tables())
    server, changes = Server(before.values()), list[Change]()
    for key, row in draw(st.lists(st.tuples(keys, st.none() | st.tuples(keys, uniques, texts)), max_size=12)):
        old = server.rows.get(key)
        change = (None if old is None else image(old), None if row is None else image(row))
        if change == (None, None):
            continue
        trial = Server(server.rows.values())
        try:
            trial.execute(change)
        except ValueError:
            continue
        server = trial
        changes.append(change)
    return before, changes, server.rows


def touched(changes: Iterable[Change]) -> set[int]:
    return {row_of(raw)[0] for change in changes for raw in change if raw is not None}


@given(histories())
def test_no_conflict_without_a_difference(history: tuple[dict[int, Row], list[Change], dict[int, Row]]) -> None:
    before, changes, after = history
    policies: list[Policy] = ["stop", "source_wins", "newest_wins", "keep_target", "dead_letter"]
    for policy in policies:
        server = Server(before.values())
        assert apply(server, changes, Rule(policy, 2)) == []
        assert server.rows == after


@given(histories(), tables())
def test_source_wins(history: tuple[dict[int, Row], list[Change], dict[int, Row]], there: dict[int, Row]) -> None:
    _, changes, after = history
    for rule in (Rule("source_wins"), Rule("source_wins", reads_first=False), CONVERGE):
        server = Server(there.values())
        met = apply(server, changes, rule)
        for key in touched(changes):
            assert server.rows.get(key) == after.get(key)
        removed = {row_of(each.found)[0] for each in met if each.kind == "unique" and each.found is not None}
        for key in set(there) - touched(changes) - removed:
            assert server.rows[key] == there[key], "a row that no change has met"


@given(histories(), tables())
def test_rows_of_the_target_remain(
    history: tuple[dict[int, Row], list[Change], dict[int, Row]], there: dict[int, Row]
) -> None:
    _, changes, _ = history
    for rule in (Rule("keep_target"), Rule("dead_letter"), Rule("keep_target", reads_first=False)):
        server = Server(there.values())
        met = apply(server, changes, rule)
        assert {each.decision for each in met} <= {"target"}
        if len(changes) == 1 and met:
            assert server.rows == there


@given(histories(), tables())
def test_newest_wins_never_replaces_a_newer_row(
    history: tuple[dict[int, Row], list[Change], dict[int, Row]], there: dict[int, Row]
) -> None:
    _, changes, _ = history
    for change in changes:
        server = Server(there.values())
        met = apply(server, [change], Rule("newest_wins", 2))
        ours = row_of(change[1] or change[0] or b"")[2]
        for conflict in met:
            if conflict.found is None:
                continue
            row = row_of(conflict.found)
            if row[2] > ours:
                assert server.rows[row[0]] == row
                assert conflict.decision == "target"


@given(
    st.lists(st.tuples(st.booleans(), keys, texts), max_size=14),
    st.dictionaries(keys, texts, min_size=3),
)
@settings(max_examples=200)
def test_both_directions_end_with_the_same_rows(writes: list[tuple[bool, int, str]], given_: dict[int, str]) -> None:
    """Rows changed and inserted on two sides at the same time, with unrelated clocks."""
    sides = [Server((key, None, text) for key, text in given_.items()) for _ in range(2)]
    logs: list[list[Change]] = [[], []]
    for second, key, text in writes:
        server, log = sides[second], logs[second]
        old = server.rows.get(key)
        new: Row = (key, None, text)
        if old is None or old[2] < text:  # the application's clock does not go back
            log.append((None if old is None else image(old), image(new)))
            server.rows[key] = new
    for number in (0, 1):
        apply(sides[1 - number], logs[number], Rule("newest_wins", 2))
    assert sides[0].rows == sides[1].rows


def test_kinds() -> None:
    a, b, other = (1, 10, "a"), (2, 20, "b"), (1, 10, "c")
    found: list[tuple[list[Row], Change, list[str]]] = [
        ([], (image(a), image(other)), ["missing"]),
        ([], (image(a), None), ["missing"]),
        ([a], (None, image(other)), ["exists"]),
        ([a], (image(other), None), ["different"]),
        ([a], ((image((1, 10, "A"))), None), []),
        ([a, b], (image(a), image((2, 10, "a"))), ["exists"]),
        ([a, b], (image(a), image((1, 20, "a"))), ["unique"]),
        ([b], (image(a), image((1, 20, "a"))), ["missing", "unique"]),
        ([a, (2, None, "b")], (image(a), image((1, None, "a"))), []),
    ]
    for rows, change, kinds in found:
        met = apply(Server(rows), [change], Rule("keep_target"))
        assert [each.kind for each in met] == kinds, (rows, change)


def test_a_difference_is_no_conflict_where_rows_are_not_always_read() -> None:
    """It would be noticed by chance: together with another conflict."""
    server = Server([(1, 10, "c")])
    change = image((1, 10, "a")), image((1, 10, "b"))
    assert apply(server, [change], Rule("keep_target", reads_first=False)) == []
    assert server.rows == {1: (1, 10, "b")}


@pytest.mark.parametrize("one", [(1, None, "a"), (1, 3, "a")])
def test_equal_times_are_decided_by_the_values(one: Row) -> None:
    other: Row = (1, 5, "a")
    results = []
    for ours, theirs in ((one, other), (other, one)):
        server = Server([theirs])
        apply(server, [(None, image(ours))], Rule("newest_wins", 2))
        results.append(server.rows)
    assert results[0] == results[1]


BEFORE, AFTER = (1, None, "before"), (1, None, "after")


@pytest.mark.parametrize(
    ("there", "change", "rule", "expected"),
    [
        ([], (BEFORE, AFTER), COMPLETE, [AFTER]),
        ([BEFORE], (BEFORE, AFTER), COMPLETE, [AFTER]),
        ([], (BEFORE, None), COMPLETE, []),
        ([(1, None, "other")], (BEFORE, AFTER), COMPLETE, "different"),
        ([(1, None, "other")], (BEFORE, None), COMPLETE, "different"),
        ([(1, None, "other")], (None, AFTER), COMPLETE, "exists"),
        ([AFTER], (None, AFTER), COMPLETE, "exists"),
        ([(2, 7, "other")], (None, (1, 7, "")), COMPLETE, "unique"),
        ([], (None, AFTER), MISSING, [AFTER]),
        ([AFTER], (None, AFTER), MISSING, [AFTER]),
        ([BEFORE], (None, AFTER), MISSING, "exists"),
        ([(2, 7, "other")], (None, (1, 7, "")), MISSING, "unique"),
    ],
)
def test_rows_of_merged_tables_that_are_being_filled(
    there: list[Row], change: tuple[Row | None, Row | None], rule: Rule, expected: list[Row] | str
) -> None:
    """A row that is there and is not what this table had is one of another table."""
    server = Server(there)
    before, after = (None if row is None else image(row) for row in change)
    done, conflicts = TableRows(comparison(), [image(row) for row in there]).apply((before, after), rule)
    if isinstance(expected, str):
        assert [conflict.kind for conflict in conflicts] == [expected] and not done
        return
    for each in done:
        server.execute(each)
    assert not conflicts and sorted(server.rows.values()) == expected
