"""Columns that go, and names that change, in records that the real decoder makes."""

from __future__ import annotations

from typing import Any

import pytest

from replicator.errors import ConfigError, DecodeError
from tests.support.present import present
from tests.unit.transform.changes import ANN, BOB, USERS, Script, images, keys, run, task

INSERTS = Script().change(USERS, "insert", ANN, BOB)


def test_without_transforms() -> None:
    assert images(run(task(), INSERTS))[0][2] == {"id": 1, "email": "ann@example.org", "age": 41, "city": "Oslo"}


def test_excluded_columns_are_not_in_any_image() -> None:
    script = Script().change(USERS, "update", ANN, (1, "a@example.org", 42, "Bergen")).change(USERS, "delete", BOB)
    made = run(task(columns=[{"tables": ["shop.user"], "exclude": ["EMAIL", "city"]}]), script)
    assert images(made) == [("u", {"id": 1, "age": 41}, {"id": 1, "age": 42}), ("d", {"id": 2, "age": None}, None)]
    assert b"example" not in b"".join(record[2] or b"" for record in made)


def test_included_columns_keep_the_tables_order() -> None:
    made = run(task(columns=[{"tables": ["shop.user"], "include": ["city", "id"]}]), INSERTS)
    assert [list(after) for _, _, after in images(made)] == [["id", "city"], ["id", "city"]]


def test_several_rules_all_count() -> None:
    rules = [{"tables": ["shop.*"], "exclude": ["age"]}, {"tables": ["shop.user"], "include": ["id", "age", "city"]}]
    assert images(run(task(columns=rules), INSERTS))[0][2] == {"id": 1, "city": "Oslo"}


def test_tables_without_a_rule_stay_as_they_are() -> None:
    made = run(task(columns=[{"tables": ["shop.*", "!shop.user"], "exclude": ["age"]}]), INSERTS)
    assert "age" in images(made)[0][2]


def test_a_key_column_goes_only_on_purpose() -> None:
    rule = {"tables": ["shop.user"], "exclude": ["id"]}
    with pytest.raises(DecodeError, match=r"E2310.*primary key of shop.user.*Found: id.*drop_keys"):
        run(task(columns=[rule]), INSERTS)
    made = run(task(columns=[rule | {"drop_keys": True}]), INSERTS)
    assert keys(made) == [None, None]
    assert "id" not in images(made)[0][2]


@pytest.mark.parametrize("section", [{"exclude": ["emial"]}, {"include": ["id", "emial"]}])
def test_a_column_that_is_not_there_stops_with_the_nearest_name(section: dict[str, list[str]]) -> None:
    with pytest.raises(DecodeError, match=r"E2310.*'emial'.*'email'"):
        run(task(columns=[{"tables": ["shop.user"], **section}]), INSERTS)


def test_a_wildcard_takes_the_columns_that_are_there() -> None:
    made = run(task(columns=[{"tables": ["shop.*"], "exclude": ["email", "password"]}]), INSERTS)
    assert list(images(made)[0][2]) == ["id", "age", "city"]


def test_nothing_left() -> None:
    rule = {"tables": ["shop.user"], "exclude": ["id", "email", "age", "city"], "drop_keys": True}
    with pytest.raises(DecodeError, match=r"E2310.*all columns of shop.user"):
        run(task(columns=[rule]), INSERTS)


def test_renamed_columns_in_key_and_images() -> None:
    rule = {
        "tables": ["shop.user"],
        "columns": {"id": "user_id", "Email": "mail"},
        "database": "crm",
        "table": "person",
    }
    made = run(task(rename=[rule]), INSERTS)
    assert made[0][0] == "t.crm.person"
    assert keys(made) == [{"user_id": 1}, {"user_id": 2}]
    assert images(made)[1][2] == {"user_id": 2, "mail": "bob@example.org", "age": None, "city": None}
    assert b'"db":"crm"' in present(made[0][2])
    assert b'"table":"person"' in present(made[0][2])


def test_rules_name_columns_as_the_source_does() -> None:
    made = run(
        task(
            columns=[{"tables": ["shop.user"], "exclude": ["age"]}],
            rename=[{"tables": ["shop.user"], "columns": {"age": "years", "city": "age"}}],
        ),
        INSERTS,
    )
    assert images(made)[0][2] == {"id": 1, "email": "ann@example.org", "age": "Oslo"}


def test_two_columns_of_one_name() -> None:
    with pytest.raises(DecodeError, match=r"E2310.*same name.*Email"):
        run(task(rename=[{"tables": ["shop.user"], "columns": {"city": "Email"}}]), INSERTS)


@pytest.mark.parametrize(
    ("transforms", "said"),
    [
        ({"columns": [{"tables": ["shop.user"]}]}, "requires include or exclude"),
        ({"columns": [{"tables": ["shop.user"], "include": ["a"], "exclude": ["b"]}]}, "requires include or exclude"),
        ({"columns": [{"tables": ["user"], "include": ["a"]}]}, "without database"),
        ({"columns": [{"tables": ["shop.user"], "exclude": []}]}, "at least one"),
        ({"rename": [{"tables": ["shop.user"]}]}, "without new names"),
        ({"route": [{"match": "(", "topic": "x"}]}, "regular expression"),
        ({"route": [{"match": r"shop\.(\w+)", "topic": "$2"}]}, r"\$2 is not a group"),
        ({"route": [{"match": r"shop\.(\w+)", "topic": "${shard}"}]}, "is not a group"),
        ({"route": [{"match": "shop.a", "topic": "x", "key_value": "1"}]}, "without key_field"),
    ],
)
def test_rules_that_are_none(transforms: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        task(**transforms)
