"""The comparison finds every planted difference and nothing else, in any order of rows."""

from __future__ import annotations

import random
from collections import Counter
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.verify.buckets import Balance, Sums, changed, chosen, hash_of, persistent
from replicator.verify.compare import Comparison, Row, document, same_document

VALUES = st.one_of(st.none(), st.binary(max_size=3))
TABLES = st.dictionaries(st.binary(max_size=3), st.tuples(VALUES, VALUES), max_size=30)
PLANS = st.dictionaries(st.binary(max_size=3), st.sampled_from(["missing", "extra", "first", "second"]), max_size=10)


def planted(
    table: dict[bytes, tuple[bytes | None, bytes | None]], plan: dict[bytes, str]
) -> tuple[list[Row], list[Row], set[tuple[str, bytes, tuple[int, ...]]]]:
    """Rows of both sides, and what differs: verdict, key, columns."""
    source: dict[bytes, Row] = {key: (key, *rest) for key, rest in table.items()}
    target, expected = dict(source), set[tuple[str, bytes, tuple[int, ...]]]()
    for key, what in plan.items():
        if what == "extra":
            if key not in source:
                target[key] = (key, b"new", None)
                expected.add(("extra", key, ()))
        elif key in source:
            if what == "missing":
                del target[key]
                expected.add(("missing", key, ()))
            else:
                index = 1 if what == "first" else 2
                values = list(source[key])
                values[index] = b"" if values[index] is None else None
                target[key] = tuple(values)
                expected.add(("different", key, (index,)))
    return list(source.values()), list(target.values()), expected


@given(TABLES, PLANS, st.randoms(use_true_random=False))
def test_every_planted_difference_is_found_and_nothing_else(
    table: dict[bytes, tuple[bytes | None, bytes | None]], plan: dict[bytes, str], order: random.Random
) -> None:
    source, target, expected = planted(table, plan)
    order.shuffle(target)
    comparison = Comparison((0,))
    found = {
        (
            each.verdict,
            each.key[0],
            comparison.columns(each.source, each.target) if each.source and each.target else (),
        )
        for each in comparison.differences(source, target)
    }
    assert found == expected


@given(TABLES, PLANS, st.randoms(use_true_random=False))
def test_hashes_find_the_same(
    table: dict[bytes, tuple[bytes | None, bytes | None]], plan: dict[bytes, str], order: random.Random
) -> None:
    source, target, expected = planted(table, plan)
    order.shuffle(target)
    mine, its = Sums(), Sums()
    for row in source:
        mine.add(hash_of(row))
    for row in target:
        its.add(hash_of(row))
    balance = Balance(frozenset(mine.unequal(its)), (0,))
    for row in source:
        balance.source(partial(tuple, row), hash_of(row))
    for row in target:
        balance.target(partial(tuple, row), hash_of(row))
    pairs = changed(balance.left, balance.keys)
    assert len(pairs) == sum(verdict == "different" for verdict, _, _ in expected)
    counts = Counter(count > 0 for count in balance.left.values())
    assert counts[True] - len(pairs) == sum(verdict == "missing" for verdict, _, _ in expected)
    assert counts[False] - len(pairs) == sum(verdict == "extra" for verdict, _, _ in expected)
    assert bool(mine.unequal(its)) == bool(expected)


def test_a_row_that_is_there_twice_is_extra() -> None:
    found = Comparison((0,)).differences([(b"1", b"a")], [(b"1", b"b"), (b"1", b"a")])
    assert [(each.verdict, each.target) for each in found] == [("extra", (b"1", b"b"))]
    one, two = Sums(), Sums()
    one.add(hash_of((b"1",)))
    for _ in range(3):
        two.add(hash_of((b"1",)))
    assert one.unequal(two)


@pytest.mark.parametrize("rows", [((b"ab", b"c"), (b"a", b"bc")), ((None,), (b"",)), ((b"", None), (None, b""))])
def test_no_two_rows_share_a_hash_by_their_borders(rows: tuple[Row, Row]) -> None:
    assert hash_of(rows[0]) != hash_of(rows[1])


def test_buckets_are_chosen_by_the_memory_that_they_take() -> None:
    assert chosen({1: 10, 2: 10, 3: 10}, 25) == {1, 2}
    assert chosen({1: 100}, 25) == {1}
    assert chosen({1: 10, 2: 10}, 25) == {1, 2}


def test_what_persists_is_in_both_passes_with_its_sign() -> None:
    assert persistent({b"a": 2, b"b": 1, b"c": -1, b"e": -2}, {b"a": 1, b"b": -1, b"d": 1, b"e": -3}) == {
        b"a": 1,
        b"e": -2,
    }


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ('{"a": 1, "b": [1, 2.5]}', '{"b":[1,2.50],"a":1}', True),
        ("[1, 2]", "[2, 1]", False),
        ("1", "1.0", False),
        ("1e2", "100.0", True),
        ("0.1", "0.10000000000000001", True),
        ("0.12345678901234567891", "0.12345678901234567892", False),
        ("123456789012345678", "123456789012345679", False),
        ('"ä"', '"\\u00e4"', True),
        ('"a"', '"A"', False),
        ("null", '"null"', False),
        ("{", "{", True),
        ("{", "{ ", False),
        ('{"a": NaN}', '{"a":NaN}', False),
        ("[" * 5000, "[" * 5001, False),
    ],
)
def test_documents_are_compared_by_their_content(one: str, other: str, *, same: bool) -> None:
    assert same_document(one.encode(), other.encode()) is same


def test_a_document_is_not_null() -> None:
    assert not same_document(None, b"null")
    assert document(None) is None
    assert Comparison((0,), [1]).canonical((b"1", b'{ "a":1}')) == (b"1", b'{"a":1}')
