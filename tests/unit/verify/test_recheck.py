"""A difference is real only when it persists behind the replication."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from replicator.verify.compare import Comparison, Difference, KeyValue, Row
from replicator.verify.recheck import ROUNDS, Recheck

KEY: KeyValue = (b"k",)
COMPARISON = Comparison((0,))


def row(*values: bytes) -> Row:
    return (b"k", *values)


def suspect(source: Row | None, target: Row | None) -> Recheck:
    return Recheck(COMPARISON, [Difference(KEY, source, target)])


def test_a_row_that_arrives_is_equal() -> None:
    recheck = suspect(row(b"1"), None)
    recheck.round({KEY: row(b"1")}, {KEY: row(b"1")}, unchanged=False)
    assert (recheck.keys, recheck.real) == ([], [])


def test_a_row_that_is_gone_at_both_sides_is_equal() -> None:
    recheck = suspect(row(b"1"), row(b"2"))
    recheck.round({}, {}, unchanged=False)
    assert (recheck.keys, recheck.real) == ([], [])


def test_an_unchanged_source_decides_at_the_second_look() -> None:
    recheck = suspect(row(b"1"), None)
    recheck.round({KEY: row(b"1")}, {}, unchanged=True)
    assert [each.verdict for each in recheck.real] == ["missing"]


def test_a_commit_that_is_shown_late_is_not_a_difference() -> None:
    """The source shows another row than at the first look, although its log has not moved."""
    recheck = suspect(row(b"1"), row(b"2"))
    recheck.round({KEY: row(b"3")}, {KEY: row(b"2")}, unchanged=True)
    assert recheck.keys == [KEY]
    recheck.round({KEY: row(b"2")}, {KEY: row(b"2")}, unchanged=True)
    assert (recheck.keys, recheck.real) == ([], [])


def test_a_difference_has_to_persist_while_the_source_changes() -> None:
    recheck = suspect(row(b"1"), row(b"2"))
    for _ in range(ROUNDS - 2):
        recheck.round({KEY: row(b"1")}, {KEY: row(b"2")}, unchanged=False)
        assert recheck.keys == [KEY]
    recheck.round({KEY: row(b"1")}, {KEY: row(b"2")}, unchanged=False)
    assert [each.verdict for each in recheck.real] == ["different"]


def test_a_row_that_changes_all_the_time_is_not_decided() -> None:
    recheck = suspect(row(b"0"), row(b"0"))
    for number in range(1, 30):
        recheck.round({KEY: row(b"%d" % number)}, {KEY: row(b"%d" % (number - 1))}, unchanged=False)
    assert (recheck.real, len(recheck.changing)) == ([], 1)


def test_a_wrong_column_is_found_in_a_row_that_changes_all_the_time() -> None:
    recheck = suspect(row(b"0", b"right"), row(b"1", b"wrong"))
    for number in range(ROUNDS):
        recheck.round({KEY: row(b"%d" % number, b"right")}, {KEY: row(b"%d" % (number + 7), b"wrong")}, unchanged=False)
    assert [each.verdict for each in recheck.real] == ["different"]


@given(st.randoms(use_true_random=False), st.integers(0, 3))
def test_what_is_only_late_is_never_real(order: random.Random, lag: int) -> None:
    """The target is behind by some changes; each change has its own value."""
    history = [row(b"%d" % number) for number in range(60)]
    recheck = suspect(history[lag], history[0])
    at = lag
    for _ in range(2 * ROUNDS):
        read = at
        at += order.randint(1, 4)
        recheck.round({KEY: history[read]}, {KEY: history[order.randint(read, at)]}, unchanged=False)
    assert not recheck.real
