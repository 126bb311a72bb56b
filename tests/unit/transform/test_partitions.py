"""What chooses partitions, in records that the real decoder makes and the memory broker takes."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.errors import ConfigError, DecodeError
from replicator.model.batch import Record
from replicator.model.partitioner import partition_of
from replicator.model.plan import RecordPlan, TablePlan, Text, Value
from replicator.model.table import Column, Table
from replicator.transform.partitions import Partitions
from tests.unit.decode.binlog_writer import UUID
from tests.unit.transform.changes import ANN, BOB, USERS, Script, images, keys, route, run, task

SCRIPT = Script().change(USERS, "insert", ANN, BOB).change(USERS, "delete", BOB)


def routes(made: list[Record]) -> list[bytes | None]:
    return [record[6] if len(record) == 7 else None for record in made]


def by(kind: str, **more: Any) -> Any:
    return task(partition_by=[{"by": kind, **more}])


def test_the_key_by_default_and_when_asked() -> None:
    assert routes(run(task(), SCRIPT)) == [None] * 4
    assert routes(run(by("primary_key"), SCRIPT)) == [None] * 4


def test_table_and_database() -> None:
    assert set(routes(run(by("table"), SCRIPT))) == {b"shop.user"}
    assert set(routes(run(by("database"), SCRIPT))) == {b"shop"}


def test_transaction() -> None:
    assert routes(run(by("transaction"), SCRIPT)) == [f'"{UUID}:{n}"'.encode() for n in (1, 1, 2, 2)]


def test_columns() -> None:
    made = run(by("columns", columns=["CITY", "age"]), SCRIPT)
    assert routes(made) == [b'["Oslo","41"]', b"[null,null]", b"[null,null]", b"[null,null]"]


def test_an_update_of_the_columns_is_a_delete_and_an_insert() -> None:
    rome = (1, ANN[1], 41, "Rome")
    made = run(by("columns", columns=["city"]), Script().change(USERS, "update", ANN, rome, rome, (1, "x", 41, "Rome")))
    assert [op for op, _, _ in images(made)] == ["d", "c", "u"]
    assert routes(made) == [b'["Oslo"]', b'["Oslo"]', b'["Rome"]', b'["Rome"]']
    assert keys(made) == [{"id": 1}] * 4


def test_a_key_that_changes_is_one_too() -> None:
    made = run(by("columns", columns=["city"]), Script().change(USERS, "update", ANN, (7, *ANN[1:])))
    assert [key["id"] for key in keys(made)] == [1, 1, 7]


def test_the_first_rule_counts_and_columns_may_be_hidden() -> None:
    config = task(
        columns=[{"tables": ["shop.user"], "exclude": ["city"]}],
        partition_by=[{"tables": ["shop.user"], "by": "columns", "columns": ["city"]}, {"by": "table"}],
    )
    assert routes(run(config, SCRIPT))[0] == b'["Oslo"]'


def test_formats_without_keys_and_without_rekey() -> None:
    """As Canal and Maxwell have them."""
    after, before = (Value(0, "after", "int"),), (Value(0, "before", "int"),)
    fixed = (Text("x"),)
    plan = TablePlan(
        "t", (RecordPlan(None, after),), (RecordPlan(None, after),), (RecordPlan(None, before),), route=fixed
    )
    rule = by("primary_key").transforms.partition_by
    made = Partitions(rule)(USERS, plan)
    new, old = (Text("["), Value(0, "after", "plain:"), Text("]")), (Text("["), Value(0, "before", "plain:"), Text("]"))
    assert [record.route for record in (*made.insert, *made.update, *made.delete)] == [new, new, old]
    assert made.rekey == (*made.delete, *made.insert)
    assert made.keys == (0,)
    assert made.route is None
    bare = msgspec.structs.replace(USERS, primary_key=())
    assert Partitions(rule)(bare, plan).route is None
    keyed = msgspec.structs.replace(plan, insert=(RecordPlan(after, after),), update=(), delete=())
    assert Partitions(rule)(USERS, keyed).insert[0].route is None
    assert Partitions(())(USERS, plan) is plan


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"by": "columns"}, "and the reverse"),
        ({"by": "table", "columns": ["a"]}, "and the reverse"),
        ({"by": "moon"}, "E1003"),
    ],
)
def test_rules_that_are_none(rule: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        task(partition_by=[rule])


def test_columns_that_can_not_be_used() -> None:
    with pytest.raises(DecodeError, match=r"E2310.*'citi'.*'city'"):
        run(by("columns", columns=["citi"]), SCRIPT)
    table = Table("shop", "t", (*USERS.columns, Column(4, "doc", 245, 4)), (0,))
    with pytest.raises(DecodeError, match=r"E2310.*shop.t.doc"):
        Partitions(by("columns", columns=["doc"]).transforms.partition_by)(table, TablePlan("t", (), (), ()))


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["Oslo", "Rome", "Bern"])), min_size=1, max_size=15))
def test_order_per_value_is_kept(changes: list[tuple[int, str]]) -> None:
    """What the documentation promises of `columns`: all changes of rows with one value, in one partition, in order."""
    script, now = Script(), dict[int, str]()
    for key, city in changes:
        row = (key, "x", 1, city)
        if key in now:
            script.change(USERS, "update", (key, "x", 1, now[key]), row)
        else:
            script.change(USERS, "insert", row)
        now[key] = city
    made = [record for record in run(by("columns", columns=["city"]), script) if record[2] is not None]
    held: defaultdict[str, set[int]] = defaultdict(set)
    places: defaultdict[str, set[int]] = defaultdict(set)
    for record, (_, before, after) in zip(made, images(made), strict=True):
        city = (after or before)["city"]
        places[city].add(partition_of(record[0], route(record), 5))
        assert before is None or after is None or before["city"] == city
        held[city].discard((before or after)["id"])
        if after is not None:
            held[city].add(after["id"])
    assert all(len(found) == 1 for found in places.values())
    assert {key: city for city, found in held.items() for key in found} == now
