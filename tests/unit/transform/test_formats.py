"""The same transforms under every format: their plans have shapes of their own."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from replicator.encode.topics import Topics
from replicator.model.plan import Each, RecordPlan, TablePlan, Var
from replicator.transform.chain import Chain
from tests.unit.transform.changes import ANN, BOB, USERS, Script, keys, route, run, task, values

TRANSFORMS: dict[str, Any] = {
    "columns": [{"tables": ["shop.user"], "exclude": ["age"]}],
    "mask": [{"tables": ["shop.user"], "columns": ["email"], "keep_last": 4}],
    "rename": [{"tables": ["shop.user"], "columns": {"city": "town"}, "table": "person"}],
    "filter": [{"tables": ["shop.user"], "where": "city = 'Oslo'"}],
}
ROME = (1, "rome@example.com", 42, "Rome")
LATER = (1, "ann@example.net", 42, "Oslo")
SCRIPT = (
    Script()
    .change(USERS, "insert", ANN, BOB, (3, "cee@example.org", 1, "Oslo"))
    .change(USERS, "update", ANN, LATER, LATER, ROME, BOB, (2, *LATER[1:]))
    .change(USERS, "delete", ROME, BOB)
)


def test_maxwell() -> None:
    made = [value for value in values(run(task("maxwell", **TRANSFORMS), SCRIPT)) if value is not None]
    assert [(value["type"], value["table"]) for value in made] == [
        (type_, "person") for type_ in ("insert", "insert", "update", "delete", "insert")
    ]
    assert made[0]["data"] == {"id": 1, "email": "***********.org", "town": "Oslo"}
    assert made[2]["data"] == {"id": 1, "email": "***********.net", "town": "Oslo"}
    assert made[2]["old"] == {"email": "***********.org"}


def test_canal_writes_a_message_a_row_when_rows_are_filtered() -> None:
    made = values(run(task("canal", **TRANSFORMS), SCRIPT))
    assert [(value["type"], len(value["data"])) for value in made] == [
        (type_, 1) for type_ in ("INSERT", "INSERT", "UPDATE", "DELETE", "INSERT")
    ]
    assert made[0]["data"] == [{"id": "1", "email": "***********.org", "town": "Oslo"}]
    assert set(made[0]["mysqlType"]) == set(made[0]["sqlType"]) == {"id", "email", "town"}
    joined = values(run(task("canal", columns=TRANSFORMS["columns"]), SCRIPT))
    assert [len(value["data"]) for value in joined] == [3, 3, 2]


@pytest.mark.parametrize("format_", ["debezium", "maxwell", "canal"])
def test_a_key_field_and_nulls(format_: str) -> None:
    transforms = {
        "route": [{"match": r"shop\.user_(\d)", "topic": "users", "key_field": "shard", "key_value": "s$1"}],
        "mask": [{"tables": ["shop.*"], "columns": ["email"], "nullify": True}],
        "partition_by": [{"by": "columns", "columns": ["city"]}],
    }
    table = msgspec.structs.replace(USERS, name="user_7")
    made = run(task(format_, **transforms), Script().change(table, "insert", ANN).change(table, "update", ANN, LATER))
    assert {record[0] for record in made} == {"users"}
    assert {route(record) for record in made} == {b'["Oslo"]'}
    text = b"".join(record[2] or b"" for record in made)
    assert b"example" not in text
    assert text.count(b'"shard":"s7"') >= 2
    if format_ == "debezium":
        assert keys(made) == [{"id": 1, "shard": "s7"}] * 2


@pytest.mark.parametrize("format_", ["debezium", "maxwell", "canal"])
def test_partition_by_key_splits_updates_of_it(format_: str) -> None:
    made = run(
        task(format_, partition_by=[{"by": "primary_key"}]), Script().change(USERS, "update", ANN, (9, *ANN[1:]))
    )
    kinds = [value.get("op", value.get("type", "")).lower()[0] for value in values(made) if value is not None]
    assert kinds == (["d", "c"] if format_ == "debezium" else ["d", "i"])


def test_a_key_field_never_counts_as_changed() -> None:
    route = {"match": r"shop\.user", "topic": "users", "key_field": "shard"}
    made = run(task("maxwell", route=[route]), Script().change(USERS, "update", ANN, (9, *ANN[1:])))
    (value,) = values(made)
    assert value["data"]["shard"] == "user"
    assert value["old"] == {"id": 1}


def test_the_statement_behind_a_row_does_not_tell_what_is_hidden() -> None:
    template = Var("query"), Var("query", before=',"sql":'), Each((Var("query"),))
    plan = TablePlan("t", (RecordPlan(None, template),), (), ())
    for hiding in (
        {"columns": [{"tables": ["shop.*"], "exclude": ["age"]}]},
        {"mask": [{"tables": ["shop.*"], "columns": ["age"], "fixed": ""}]},
        {"filter": [{"tables": ["shop.*"], "where": "age = 1"}]},
    ):
        made = Chain(task(**hiding).transforms).planner(lambda view, topic: plan, Topics("t", "t"))(USERS)
        assert made is not None
        assert "query" not in repr(made.insert)
    kept = Chain(task().transforms).planner(lambda view, topic: plan, Topics("t", "t"))(USERS)
    assert kept == plan
