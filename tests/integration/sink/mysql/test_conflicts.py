"""Rows of the target that are not what the source says they were, and what each policy makes of them."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from replicator.errors import SinkError
from tests.support.row_records import joined
from tests.support.site_pair import Pair, deliver

CREATE = (
    "CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(20), price DECIMAL(9,2), changed DATETIME(3) NOT NULL) "
    "CHARACTER SET utf8mb4",
)
ROWS = (
    "INSERT INTO item VALUES (1, 'a', 1.10, '2026-01-01'), (2, 'b', 2.20, '2026-01-01'), (3, 'c', NULL, '2026-01-01'), "
    "(4, 'd', 4, '2026-01-01')"
)


THERE = (
    "DELETE FROM item WHERE id IN (1, 2)",
    "UPDATE item SET name = 'other' WHERE id = 3",
    "INSERT INTO item VALUES (5, 'there', 5, '2026-02-02')",
)
HERE = (
    "UPDATE item SET name = 'a2' WHERE id = 1",
    "DELETE FROM item WHERE id = 2",
    "UPDATE item SET price = 3 WHERE id = 3",
    "INSERT INTO item VALUES (5, 'new', 1, '2026-01-01')",
    "UPDATE item SET name = 'newer' WHERE id = 5",
    "UPDATE item SET name = 'd2' WHERE id = 4",
)


def names(rows: list[tuple[Any, ...]]) -> dict[int, str]:
    return {row[0]: row[1] for row in rows}


def recorded(pair: Pair) -> list[tuple[Any, ...]]:
    return pair.target.execute(
        "SELECT kind, policy, decision, row_key, expected_row, found_row, new_row "
        f"FROM {pair.place}.replicator_conflicts ORDER BY id"
    )


@pytest.mark.parametrize(("compare", "apply"), [("row", "auto"), ("key", "auto"), ("row", "sql"), ("key", "sql")])
def test_source_wins(pair: Pair, compare: str, apply: str) -> None:
    pair.both(*CREATE)
    pair.both(ROWS)
    pair.at_target(*THERE)
    batches = pair.at_source(*HERE)
    sink = pair.opened(conflict={"policy": "source_wins", "compare": compare}, apply=apply)
    sink.write(joined(batches))
    sink.commit(batches[-1].position)
    here, there = pair.rows("item")
    assert here == there
    found = recorded(pair)
    kinds = {(json.loads(row[3])["id"], row[0]) for row in found}
    differs = {(3, "different")} if compare == "row" else set()
    assert kinds == {(1, "missing"), (2, "missing"), (5, "exists")} | differs
    assert all(row[1:3] == ("source_wins", "source") for row in found)
    assert {each.kind: each.count for each in sink.conflicts} == Counter(row[0] for row in found)
    assert {each.policy for each in sink.conflicts} == {"source_wins"}
    for row in found:
        if row[0] == "different":
            moment = "2026-01-01 00:00:00.000"
            assert json.loads(row[4]) == {"id": 3, "name": "c", "price": None, "changed": moment}
            assert json.loads(row[5]) == {"id": 3, "name": "other", "price": None, "changed": moment}
            assert json.loads(row[6]) == {"id": 3, "name": "c", "price": "3.00", "changed": moment}
    deliver(sink, pair.at_source("UPDATE item SET name = 'last' WHERE id = 1"))
    assert names(pair.rows("item")[1])[1] == "last"


@pytest.mark.parametrize("policy", ["keep_target", "dead_letter"])
@pytest.mark.parametrize("together", [True, False])
def test_rows_of_the_target_remain(pair: Pair, policy: str, together: bool) -> None:
    pair.both(*CREATE)
    pair.both(ROWS)
    pair.at_target(*THERE)
    batches = pair.at_source(*HERE)
    sink = pair.opened(conflict=policy)
    deliver(sink, [joined(batches)] if together else batches)
    assert names(pair.rows("item")[1]) == {3: "other", 4: "d2", 5: "there"}
    found = [(json.loads(row[3])["id"], row[0], row[2]) for row in recorded(pair)]
    assert found == [
        (1, "missing", "target"),
        (2, "missing", "target"),
        (3, "different", "target"),
        (5, "exists", "target"),
        (5, "different", "target"),
    ], "the same, however transactions are grouped"


@pytest.mark.parametrize("together", [True, False])
def test_newest_wins(pair: Pair, together: bool) -> None:
    pair.both(*CREATE)
    pair.both(ROWS)
    pair.at_target(
        "UPDATE item SET name = 'late', changed = '2026-03-01' WHERE id IN (1, 3)",
        "UPDATE item SET name = 'early', changed = '2026-01-02' WHERE id = 2",
        "DELETE FROM item WHERE id = 4",
        "INSERT INTO item VALUES (5, 'there', 5, '2026-02-02 00:00:00.001'), (6, 'there', 5, '2026-02-02')",
    )
    batches = pair.at_source(
        "UPDATE item SET name = 'one', changed = '2026-02-01' WHERE id = 1",
        "UPDATE item SET name = 'two', changed = '2026-02-01' WHERE id = 2",
        "DELETE FROM item WHERE id = 3",
        "UPDATE item SET name = 'four', changed = '2026-02-01' WHERE id = 4",
        "INSERT INTO item VALUES (5, 'new', 1, '2026-02-02'), (6, 'new', 1, '2026-02-02 00:00:00.001')",
        "UPDATE item SET name = 'five', changed = '2026-04-01' WHERE id = 5",
    )
    sink = pair.opened(conflict={"policy": "newest_wins", "column": "changed"})
    deliver(sink, [joined(batches)] if together else batches)
    assert names(pair.rows("item")[1]) == {1: "late", 2: "two", 3: "late", 4: "four", 5: "five", 6: "new"}
    found = [(json.loads(row[3])["id"], row[0], row[2]) for row in recorded(pair)]
    assert found == [
        (1, "different", "target"),
        (2, "different", "source"),
        (3, "different", "target"),
        (4, "missing", "source"),
        (5, "exists", "target"),
        (6, "exists", "source"),
        (5, "different", "source"),
    ]


def test_stop_names_the_columns_that_differ(pair: Pair) -> None:
    pair.both(*CREATE)
    pair.both(ROWS)
    pair.at_target("UPDATE item SET name = 'secret', price = 7 WHERE id = 3")
    batches = pair.at_source("UPDATE item SET name = 'x' WHERE id = 4", "UPDATE item SET name = 'y' WHERE id = 3")
    sink = pair.opened(conflict={"policy": "stop", "compare": "row"})
    sink.write(joined(batches))
    with pytest.raises(SinkError, match=r"E3451.*columns name, price") as caught:
        sink.commit(batches[-1].position)
    assert "secret" not in str(caught.value)
    assert caught.value.position == batches[1].records[0][3].decode()
    assert names(pair.rows("item")[1]) == {1: "a", 2: "b", 3: "secret", 4: "d"}
    assert recorded(pair) == []


KEYS = (
    "CREATE TABLE named (name VARCHAR(20), part INT, code VARCHAR(9), v INT, PRIMARY KEY (name, part), UNIQUE (code), "
    "UNIQUE (v, part)) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
)


def test_keys_that_are_equal_under_their_collation(pair: Pair) -> None:
    pair.both(*KEYS)
    pair.both("INSERT INTO named VALUES ('Anna', 1, 'x', 1), ('bert', 1, 'y', 2), ('ç', 2, NULL, NULL)")
    pair.at_target("UPDATE named SET name = 'ANNA ' WHERE v = 1", "DELETE FROM named WHERE v = 2")
    batches = pair.at_source(
        "UPDATE named SET code = 'X1' WHERE name = 'anna'",
        "UPDATE named SET name = 'BERT', v = 9 WHERE name = 'bert'",
        "DELETE FROM named WHERE name = 'c'",
        "INSERT INTO named VALUES ('Ç', 2, 'y1', 3)",
    )
    sink = pair.opened(conflict="source_wins")
    deliver(sink, [joined(batches)])
    here, there = pair.rows("named", "1, 2")
    assert here == there
    assert sorted(row[0] for row in recorded(pair)) == ["different", "missing"]


def test_another_row_has_a_unique_value(pair: Pair) -> None:
    pair.both(*KEYS)
    pair.both("INSERT INTO named VALUES ('a', 1, 'x', 1), ('b', 1, 'y', 2), ('c', 1, 'z', 3)")
    pair.at_target("INSERT INTO named VALUES ('t', 1, 'Q', 50), ('u', 1, 'r', 60)")
    batches = pair.at_source(
        "UPDATE named SET v = 100 WHERE name = 'a'",
        "UPDATE named SET v = 1 WHERE name = 'b'",
        "UPDATE named SET v = 2 WHERE name = 'a'",
        "INSERT INTO named VALUES ('n', 1, 'q ', 60)",
    )
    sink = pair.opened(conflict="keep_target")
    deliver(sink, [joined(batches)])
    assert [row[0] for row in pair.rows("named", "1")[1]] == ["a", "b", "c", "t", "u"]
    assert [row[0] for row in recorded(pair)] == ["unique", "unique"]
    other = pair.opened(epoch=2, conflict="source_wins")
    deliver(other, pair.at_source("UPDATE named SET v = 61 WHERE name = 'n'", "DELETE FROM named WHERE name = 'c'"))
    here, there = pair.rows("named", "1")
    assert [row for row in there if row[0] != "u"] == here
    assert [row[0] for row in recorded(pair)][2:] == ["missing", "unique"]
