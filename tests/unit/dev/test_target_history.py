"""The judgement of samples of a target, with planted faults."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from dev.targets.history import History, Print, Sample

A, B = ("t", 0), ("t", 1)
FIRST: Mapping[tuple[str, int], Print] = {A: (1, 10, 10)}
SECOND: Mapping[tuple[str, int], Print] = {A: (1, 10, 10), B: (2, 30, 2)}


def counted() -> History:
    """All transactions follow each other: one of writer 0, one of writer 1."""
    history = History(["t"], 2)
    history.committed(0, 0, {})
    history.committed(1, 0, {})
    history.committed(0, 1, FIRST, 1)
    history.committed(1, 1, SECOND, 2)
    return history


def parallel() -> History:
    history = History(["t"], 2)
    history.committed(0, 0, {})
    history.committed(1, 0, {})
    history.committed(0, 1, {A: (1, 10, 10)})
    history.committed(1, 1, {B: (2, 30, 2)})
    return history


@pytest.mark.parametrize(
    "sample", [Sample({0: 0, 1: 0}, {}, 0), Sample({0: 1, 1: 0}, FIRST, 1), Sample({0: 1, 1: 1}, SECOND, 2)]
)
def test_each_state_of_the_source_is_right(sample: Sample) -> None:
    assert counted().wrong(sample) == []


@pytest.mark.parametrize("marks", [{0: 0, 1: 1}, {0: 1, 1: 1}, {0: 0, 1: 0}])
def test_writers_commit_in_any_order_where_they_are_not_counted(marks: dict[int, int]) -> None:
    rows = {key: print_ for key, print_ in SECOND.items() if marks[key[1]]}
    assert parallel().wrong(Sample(marks, rows)) == []


@pytest.mark.parametrize(
    ("what", "sample"),
    [
        ("a row is missing", Sample({0: 1, 1: 1}, {A: (1, 10, 10), B: (1, 10, 10)}, 2)),
        ("a row is there twice", Sample({0: 1, 1: 0}, {A: (2, 20, 0)}, 1)),
        ("an older version of a row", Sample({0: 1, 1: 0}, {A: (1, 9, 9)}, 1)),
        ("a part of a transaction", Sample({0: 1, 1: 0}, SECOND, 1)),
        ("the second transaction before the first", Sample({0: 0, 1: 1}, {B: (2, 30, 2)}, 1)),
        ("a transaction is left out", Sample({0: 0, 1: 1}, {B: (2, 30, 2)}, 2)),
        ("a transaction that never was", Sample({0: 2, 1: 1}, SECOND, 3)),
    ],
)
def test_planted_faults_are_found(what: str, sample: Sample) -> None:
    assert counted().wrong(sample), what


@pytest.mark.parametrize(
    ("what", "sample"),
    [
        ("a row is missing", Sample({0: 1, 1: 1}, {A: (1, 10, 10), B: (1, 10, 10)})),
        ("rows of a transaction without its mark", Sample({0: 1, 1: 0}, SECOND)),
        ("a mark without its rows", Sample({0: 1, 1: 1}, FIRST)),
        ("a transaction that never was", Sample({0: 2, 1: 1}, SECOND)),
    ],
)
def test_planted_faults_are_found_among_parallel_writers(what: str, sample: Sample) -> None:
    assert parallel().wrong(sample), what


def test_the_last_transaction_of_each_writer() -> None:
    assert counted().last() == {0: 1, 1: 1}
