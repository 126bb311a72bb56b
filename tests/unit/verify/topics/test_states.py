"""The state per key is what a consumer would rebuild from the records, whatever fits into memory."""

from __future__ import annotations

from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.verify.topics.columns import UNKNOWN, Columns, RecordComparison
from replicator.verify.topics.spill import PARTS
from replicator.verify.topics.states import Change, Emptied, State, TopicStates

Row: TypeAlias = dict[str, bytes]
NAME = ("shop", "item")
OTHER = ("shop", "customer")


def columns(number: int = 0) -> Columns:
    return Columns(number, ["id", "v"], ["id"])


def row(key: int, value: int) -> Row:
    return {"id": b"%d" % key, "v": b"%d" % value}


def present(states: TopicStates) -> dict[bytes, State]:
    found = {key: state for number in range(PARTS) for key, state in states.part(number).items()}
    return {key: state for key, state in found.items() if state.present}


OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["insert", "update", "move", "delete", "truncate", "tombstone"]),
        st.integers(0, 6),
        st.integers(0, 6),
        st.integers(0, 9),
        st.sampled_from([NAME, OTHER]),
    ),
    max_size=80,
)


@given(OPERATIONS, st.sampled_from([0, 600, 1 << 20]))
def test_random_histories(operations: list[tuple[str, int, int, int, tuple[str, str]]], most: int) -> None:
    """A row is moved to another key by one record, as in Maxwell's format."""
    tables = {NAME: columns(0), OTHER: columns(1)}
    plain: dict[tuple[tuple[str, str], bytes], Row] = {}
    states = TopicStates(tables, most)
    for offset, (operation, key, other, value, name) in enumerate(operations):
        change: Change | Emptied
        after = row(key, value)
        if operation == "truncate":
            change = Emptied(*name)
            plain = {each: kept for each, kept in plain.items() if each[0] != name}
        elif operation in ("delete", "tombstone"):
            change = Change(*name, after if operation == "delete" else {"id": after["id"]}, None)
            plain.pop((name, after["id"]), None)
        else:
            before = {"insert": None, "update": row(key, 5), "move": row(other, 5)}[operation]
            change = Change(*name, before, after)
            if before is not None:
                plain.pop((name, before["id"]), None)
            plain[name, after["id"]] = after
        states.apply(0, offset, [change])
    wanted = {
        tables[name].identity(kept): tables[name].digest(kept, tables[name].layout(kept))
        for (name, _), kept in plain.items()
    }
    assert {key: state.digest for key, state in present(states).items()} == wanted
    assert not any(state.elsewhere for state in present(states).values())
    states.close()


def test_records_of_a_key_in_two_partitions_are_marked() -> None:
    for most in (0, 1 << 20):
        states = TopicStates({NAME: columns()}, most)
        states.apply(0, 7, [Change(*NAME, None, row(1, 1)), Change(*NAME, None, row(2, 1))])
        states.apply(1, 3, [Change(*NAME, row(1, 1), row(3, 1))])
        states.apply(1, 4, [Change(*NAME, None, row(3, 2))])
        found = present(states)
        names = {columns().identity(row(key, 0)): key for key in (1, 2, 3)}
        assert {names[key]: state.elsewhere for key, state in found.items()} == {2: False, 3: False}
        states.apply(0, 8, [Change(*NAME, None, row(1, 1))])
        assert {names[key]: state.elsewhere for key, state in present(states).items()}[1]
        states.close()


def test_tables_that_are_not_compared_and_records_without_the_key() -> None:
    states = TopicStates({NAME: columns()})
    states.apply(0, 0, [Change("other", "item", None, row(1, 1)), Change(*NAME, None, {"v": b"1"})])
    states.apply(0, 1, [Change(*NAME, {"v": b"1"}, None), Emptied("other", "item")])
    assert (present(states), states.unkeyed, states.emptied) == ({}, {0: 2}, {})
    states.close()


def test_a_column_that_was_added() -> None:
    table = Columns(0, ["id", "v", "added"], ["id"])
    old, new = row(1, 1), {**row(1, 1), "added": b"null", "dropped": b"7"}
    first, second = table.layout(old), table.layout(new)
    assert (table.lacking(first), table.lacking(second)) == (("added",), ())
    assert table.digest(old, first) == table.digest({**new, "added": b"9"}, first)
    assert table.digest(new, second) == table.digest({**new, "dropped": b"8"}, second)
    assert table.digest(new, second) != table.digest({**new, "added": b"9"}, second)


def test_omitted_nulls() -> None:
    table = Columns(0, ["id", "v"], ["id"], omitted_nulls=True)
    bare, whole = {"id": b"1"}, {"id": b"1", "v": b"null"}
    assert table.layout(bare) == table.layout(whole) == 0
    assert table.digest(bare, 0) == table.digest(whole, 0)
    assert table.row(bare) == table.row(whole) != table.row({"id": b"1", "v": b"0"})


def test_documents_are_compared_by_content() -> None:
    table = Columns(0, ["id", "doc", "text"], ["id"], ["doc"])
    one = {"id": b"1", "doc": rb'"{\"a\": 1, \"b\": [1,2]}"', "text": b'"{}"'}
    other = {"id": b"1", "doc": rb'"{\"b\":[1, 2],\"a\":1}"', "text": b'"{ }"'}
    assert [mine == its for mine, its in zip(table.row(one), table.row(other), strict=True)] == [True, True, False]
    plain = {**one, "doc": b'{"b":[1,2], "a":1}'}
    assert table.row(plain)[1] == table.row({**one, "doc": b'{"a":1,"b":[1,2]}'})[1]


@pytest.mark.parametrize(
    ("mine", "its", "same"),
    [
        (b"1", b"true", True), (b"-1", b"true", True), (b"0", b"false", True), (b"0", b"true", False),
        (b"1", b"false", False), (b"1", b"2", False), (b"true", b"false", False), (b"null", b"false", False),
        (b"null", b"true", False), (b"1", UNKNOWN, False), (b"true", UNKNOWN, False),
    ],
)  # fmt: skip
def test_booleans_and_the_numbers_that_they_stand_for(mine: bytes, its: bytes, *, same: bool) -> None:
    comparison, number = RecordComparison(), (b"12345678",)
    assert (not comparison.columns((*number, mine), (*number, its))) == same
    assert (not comparison.columns((*number, its), (*number, mine))) == same
    table = Columns(0, ["id", "v"], ["id"], (), ["v"])
    one, other = {"id": b"1", "v": mine}, {"id": b"1", "v": its}
    assert same or table.digest(one, table.layout(one)) != table.digest(other, table.layout(other))
    assert table.row(one)[1] == mine


def test_numbers_of_documents_are_compared_as_doubles() -> None:
    table = Columns(0, ["id", "doc"], ["id"], ["doc"])
    exact = b"-0.000100000000000000004792173602385929598312941379845142364501953125"
    rows = [{"id": b"1", "doc": b'"[%b]"' % number} for number in (b"-0.0001", exact, b"-1", b"-1.0")]
    first, second, third, fourth = (table.row(each)[1] for each in rows)
    assert first == second and len({first, third, fourth}) == 3
