"""The checker of random snapshots names each planted fault, and only that one."""

from __future__ import annotations

import itertools
import json
from typing import NamedTuple

import pytest

from dev.snapshots.journal import Changed, Journal
from dev.snapshots.seen import Kind, Row, Seen, changes, key_of
from dev.snapshots.verdict import Verdict, compare, compare_versions, judge

_origins = itertools.count()


def row(key: int, version: int, table: int = 0) -> Row:
    return {"t": table, "k0": key, "v": version}


def change(kind: Kind, before: Row | None, after: Row | None) -> Seen:
    return Seen(kind, "t0", before, after, (b"gtid", b"%d" % next(_origins)))


def read(key: int, version: int) -> Seen:
    return change("read", None, row(key, version))


def history() -> tuple[list[Seen], Journal]:
    """Five rows that are there with versions 1 to 5, some of which change before they are read, and some after."""
    journal = Journal()
    journal.wrote([Changed(version, 0, 1, "committed") for version in (10, 11, 12, 13)])
    seen = [
        change("set", row(0, 1), row(0, 10)),
        change("delete", row(1, 2), None),
        read(2, 3),
        read(3, 4),
        change("set", row(3, 4), row(3, 11)),
        change("set", None, row(1, 12)),
        read(4, 5),
        change("delete", row(4, 5), None),
        change("set", None, row(4, 13)),
    ]
    return seen, journal


TRUTH = {key_of(each): each for each in (row(0, 10), row(1, 12), row(2, 3), row(3, 11), row(4, 13))}


def verdict(seen: list[Seen], journal: Journal) -> Verdict:
    found = judge(seen, journal)
    compare(found, TRUTH, journal)
    compare_versions(found, [(0, each["v"]) for each in TRUTH.values()])
    return found


def test_nothing_is_wrong() -> None:
    found = verdict(*history())
    assert found.findings == {} and (found.read, found.streamed) == (3, 6)


class Planted(NamedTuple):
    at: int
    removed: int
    added: list[Seen]
    named: set[str]


@pytest.mark.parametrize(
    "planted",
    [
        Planted(2, 1, [], {"row is missing", "row is missing (selected)"}),
        Planted(5, 0, [read(3, 4)], {"older row of a snapshot", "read twice"}),
        Planted(3, 0, [read(2, 3)], {"read twice"}),
        Planted(2, 0, [read(1, 2)], {"deleted row of a snapshot", "missing change"}),
        Planted(3, 1, [read(3, 11)], {"older change behind a row of a snapshot"}),
        Planted(5, 0, [read(1, 12)], {"change behind its row of a snapshot"}),
        Planted(0, 1, [], {"change is missing", "row is missing", "row is missing (selected)"}),
        Planted(4, 1, [], {"change is missing", "other value", "row is missing (selected)", "row too many (selected)"}),
        Planted(7, 1, [], {"missing change"}),
        Planted(9, 0, [change("set", None, row(9, 99))], {"change that was not committed", "row too many"}),
    ],
    ids=["row lost", "row stale", "row twice", "row of a deleted key", "row too new", "new row too new", "change lost",
         "last change lost", "delete lost", "rolled back"],
)  # fmt: skip
def test_each_fault_is_named(planted: Planted) -> None:
    seen, journal = history()
    seen[planted.at : planted.at + planted.removed] = planted.added
    found = verdict(seen, journal).findings
    assert planted.named <= found.keys(), found


def test_a_record_that_comes_twice_is_named() -> None:
    seen, journal = history()
    assert "duplicated" in verdict([*seen, seen[-1]], journal).findings
    assert "change came too often" in verdict([*seen, seen[-1]], journal).findings


def test_rows_of_before_a_table_was_emptied() -> None:
    journal = Journal()
    journal.empty(0, 20)
    journal.wrote([Changed(21, 0, 1, "committed")])
    seen = [read(1, 5), change("set", None, row(1, 21))]
    found = judge(seen, journal)
    compare(found, {key_of(row(1, 21)): row(1, 21)}, journal)
    assert found.findings == {}
    assert "row from before its table was emptied" in judge([*seen, read(2, 6)], journal).findings


def test_a_part_of_a_transaction_of_unknown_outcome_is_named() -> None:
    journal = Journal()
    journal.wrote([Changed(7, 0, 2, "unknown")])
    made = [change("set", None, row(key, 7)) for key in (1, 2)]
    assert judge([], journal).findings == judge(made, journal).findings == {}
    assert "part of a transaction" in judge(made[:1], journal).findings


def test_a_value_that_is_altered_later_is_not_compared() -> None:
    journal = Journal()
    journal.alter(0, "c1", 9)
    found = judge([read(1, 5), read(2, 10)], journal)
    truth = {key_of(each): each for each in ({**row(1, 5), "c1": 7}, {**row(2, 10), "c1": 7})}
    compare(found, truth, journal)
    assert found.findings == {"other value": ["(0, 2) v10 c1: None, not 7"]}


class Stored(NamedTuple):
    value: bytes | None
    topic: str = "t"
    headers: tuple[tuple[str, bytes], ...] = (("position", b"p"), ("row", b"3"))


def test_records_of_both_formats() -> None:
    source = {"table": "a"}
    found = list(
        changes(
            Stored(None if each is None else json.dumps(each).encode())
            for each in (
                {"op": "r", "source": source, "before": None, "after": row(1, 2)},
                None,
                {"ddl": "CREATE TABLE a"},
                {"op": "t", "source": source},
                {"type": "bootstrap-start", "database": "d", "table": "a", "data": {}},
                {"type": "bootstrap-insert", "database": "d", "table": "a", "data": row(1, 2)},
                {"type": "update", "database": "d", "table": "a", "data": row(1, 3), "old": {"v": 2}},
                {"type": "delete", "database": "d", "table": "a", "data": row(1, 3)},
            )
        )
    )
    assert [(each.kind, each.before, each.after) for each in found] == [
        ("read", None, row(1, 2)),
        ("empty", None, None),
        ("read", None, row(1, 2)),
        ("set", row(1, 2), row(1, 3)),
        ("delete", row(1, 3), None),
    ]
    assert found[0].origin == (b"p", b"3")
