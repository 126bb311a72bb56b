"""Tables that share a topic."""

from __future__ import annotations

import msgspec
import pytest

from replicator.errors import ConfigError, DecodeError
from tests.unit.transform.changes import ANN, USERS, Script, images, keys, run, task

SHARDS = [msgspec.structs.replace(USERS, name=f"user_{number:02d}") for number in (0, 31)]
BOTH = Script().change(SHARDS[0], "insert", ANN).change(SHARDS[1], "update", ANN, (1, "a@b", 41, "Oslo"))
ROUTE = {"match": r"shop\.(?P<kind>user)_(\d+)", "topic": "all.$1"}


def test_shards_share_a_topic() -> None:
    made = run(task(route=[ROUTE]), BOTH)
    assert [record[0] for record in made] == ["all.user", "all.user"]
    assert keys(made) == [{"id": 1}, {"id": 1}]


def test_a_field_tells_their_keys_apart() -> None:
    made = run(task(route=[ROUTE | {"key_field": "__shard", "key_value": "s${kind}$2"}]), BOTH)
    assert keys(made) == [{"id": 1, "__shard": "suser00"}, {"id": 1, "__shard": "suser31"}]
    assert images(made)[0][2]["__shard"] == "suser00"
    assert images(made)[1][1]["__shard"] == images(made)[1][2]["__shard"] == "suser31"


def test_the_field_is_the_tables_name_by_default() -> None:
    assert keys(run(task(route=[ROUTE | {"key_field": "__table"}]), BOTH))[1] == {"id": 1, "__table": "user_31"}


def test_a_table_without_a_key_gets_no_field() -> None:
    bare = msgspec.structs.replace(SHARDS[0], primary_key=())
    made = run(task(route=[ROUTE | {"key_field": "__shard"}]), Script().change(bare, "insert", ANN))
    assert keys(made) == [None]
    assert "__shard" not in images(made)[0][2]


def test_a_field_that_is_a_column_already() -> None:
    with pytest.raises(DecodeError, match=r"E2310.*'Email'"):
        run(task(route=[ROUTE | {"key_field": "Email"}]), BOTH)


def test_the_first_rule_counts_and_others_keep_their_topic() -> None:
    rules = [{"match": r"shop\.user_0\d", "topic": "low"}, {"match": r"shop\.user_.*", "topic": "rest"}]
    made = run(task(route=rules), Script().change(USERS, "insert", ANN).change(SHARDS[0], "insert", ANN))
    assert [record[0] for record in made] == ["t.shop.user", "low"]


def test_names_are_made_fit_for_kafka() -> None:
    odd = msgspec.structs.replace(USERS, name="bücher $1")
    made = run(task(route=[{"match": r"shop\.(.*)", "topic": "all-$1"}]), Script().change(odd, "insert", ANN))
    assert made[0][0] == "all-b_cher__1"


def test_topics_are_shared_on_purpose_only() -> None:
    taken = {"match": r"shop\.user_00", "topic": "t.shop.user"}
    with pytest.raises(ConfigError, match=r"E1007.*same topic 't.shop.user'.*transforms.route"):
        run(task(route=[taken]), Script().change(USERS, "insert", ANN).change(SHARDS[0], "insert", ANN))
    renamed = [{"tables": ["shop.user_*"], "table": "user"}]
    with pytest.raises(ConfigError, match=r"E1007.*same topic"):
        run(task(rename=renamed), BOTH)
    assert len(run(task(rename=renamed, route=[ROUTE]), BOTH)) == 2
    assert len(run(task(rename=renamed, route=[ROUTE]), BOTH)) == 2
