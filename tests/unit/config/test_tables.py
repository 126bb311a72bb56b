from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.config.tables import TableFilter
from replicator.errors import ConfigError


@pytest.mark.parametrize(
    ("patterns", "table", "chosen"),
    [
        (["shop.*"], "shop.hot_item", True),
        (["shop.*"], "shop2.hot_item", False),
        (["*.*"], "a.b", True),
        (["shop.hot_?"], "shop.hot_1", True),
        (["shop.hot_?"], "shop.hot_12", False),
        (["shop.*", "!shop.audit_*"], "shop.audit_log", False),
        (["!shop.audit_*", "shop.*"], "shop.audit_log", False),
        (["!shop.audit_*"], "crm.customer", True),
        (["shop.Hot"], "shop.hot", False),
        (["shop.[a]"], "shop.a", False),
        (["shop.[a]"], "shop.[a]", True),
        (["shop.a+b"], "shop.a+b", True),
    ],
)
def test_patterns(patterns: list[str], table: str, chosen: bool) -> None:
    assert TableFilter(patterns).matches(*table.split(".")) is chosen


def test_a_dot_in_a_tables_name_belongs_to_the_table() -> None:
    assert TableFilter(["shop.a.b"]).matches("shop", "a.b")


@pytest.mark.parametrize("pattern", ["shop", "shop.", ".x", "!", "!x", "", "a.\0"])
def test_a_pattern_needs_both_parts(pattern: str) -> None:
    with pytest.raises(ConfigError, match="E1003"):
        TableFilter([pattern])


def test_tables_named_plainly_are_known() -> None:
    assert TableFilter(["shop.*", "crm.customer", "!a.b", "x.y?"]).literal() == [("crm", "customer")]


_NAME = st.text(alphabet="ab._[]*?", min_size=1, max_size=6)


@given(
    st.text(alphabet="ab[]", min_size=1), _NAME.filter(lambda t: "." not in t), st.text(alphabet="ab._[]*?", min_size=1)
)
def test_agrees_with_a_plain_reading_of_the_rule(database: str, db_pattern: str, table_pattern: str) -> None:
    expected = re.fullmatch(re.escape(db_pattern).replace(r"\*", ".*").replace(r"\?", "."), database) is not None
    chosen = TableFilter([f"{db_pattern}.{table_pattern}"])
    assert chosen.matches(database, table_pattern) is expected


@pytest.mark.parametrize(
    ("table", "carried"),
    [
        ("item", True),
        ("_item_gho", False),
        ("_item_ghc", False),
        ("_item_ghk", False),
        ("_item_del", False),
        ("_item_20261121140000_del", False),
        ("_item_new", False),
        ("__item_new", False),
        ("_item_old", False),
        ("_stock_new", True),
        ("item_new", True),
        ("_item_newer", True),
    ],
)
def test_copies_of_online_schema_changes(table: str, carried: bool) -> None:
    patterns = ["shop.*item*", "shop._stock_new"]
    assert TableFilter(patterns, hide_copies=True).matches("shop", table) is carried
    assert TableFilter(["shop.item"], hide_copies=True).matches("shop", "_item_new") is False
    assert TableFilter(["shop.*"]).matches("shop", table)


def test_a_name_that_only_looks_like_a_copy() -> None:
    chosen = TableFilter(["shop.*", "!shop.item"], hide_copies=True)
    assert chosen.matches("shop", "_item_new"), "there is no table whose copy it could be"


def test_tables_of_tasks_are_never_chosen() -> None:
    chosen = TableFilter(("*.*", "crm.replicator_?"))
    assert not chosen.matches("replicator", "replicator_position")
    assert not chosen.matches("other", "replicator_conflicts")
    assert chosen.matches("replicator", "replicator_positions")
    with pytest.raises(ConfigError) as refused:
        TableFilter(("replicator.replicator_position",))
    assert refused.value.code == "E1003"
    TableFilter(("*.*", "!replicator.replicator_position"))
