"""Which conditions of a filter a source may test."""

from __future__ import annotations

import pytest

from replicator.config.transforms import FilterRule
from replicator.model import types
from replicator.model.row_tests import IntegerTest
from replicator.mysql.table_shape import ColumnShape, TableShape
from replicator.source.mysql.snapshot.row_conditions import condition
from replicator.transform.pushdown import MOST_VALUES, Pushdown

SHAPE = TableShape(
    "shop",
    "item",
    (
        ColumnShape("Id", types.LONGLONG, 0, False, "`Id`", unsigned=True),
        ColumnShape("n", types.TINY, 0, True, "`n`"),
        ColumnShape("m", types.INT24, 0, True, "`m`", unsigned=True),
        ColumnShape("text", types.VARCHAR, 40, True, "`text`", collation=45),
        ColumnShape("price", types.NEWDECIMAL, 0, True, "`price`"),
        ColumnShape("year", types.YEAR, 0, True, "`year`"),
    ),
)


def sql(*wheres: str, where: str = "", tables: tuple[str, ...] = ("shop.*",)) -> str:
    rules = [FilterRule(tables=tables, where=text) for text in wheres]
    return condition(SHAPE, Pushdown(rules).tests("shop", "item"), where)


@pytest.mark.parametrize(
    ("filter_", "expected"),
    [
        ("id = 5", "`Id` = 5"),
        ("5 < n AND m <> 7 AND (n <= 9 AND id >= 4)", "`n` > 5 AND `m` <> 7 AND `n` <= 9 AND `Id` >= 4"),
        ("id = 18446744073709551615", "`Id` = 18446744073709551615"),
        ("id = 18446744073709551616", ""),
        ("n IN (1, -2, 3.0)", "`n` IN (1, -2, 3)"),
        ("n = 5 AND text = 'a'", "`n` = 5"),
        ("n = 5 OR m = 5", ""),
        ("NOT n = 5", ""),
        ("n IS NULL", ""),
        ("text = 'a'", ""),
        ("price < 5", ""),
        ("year = 2026", ""),
        ("n < 5.5", ""),
        ("n = 1e30", ""),
        ("n < m", ""),
        ("n = 128", ""),
        ("m >= -1", ""),
        ("n IN (1, 128)", ""),
        ("unknown = 5", ""),
        ("after.n = 5", ""),
        ("n = TRUE", ""),
        ("operation = 'insert' AND before.n = 5", ""),
        (f"n IN ({', '.join(['1'] * (MOST_VALUES + 1))})", ""),
    ],
)
def test_only_what_a_server_surely_evaluates_alike(filter_: str, expected: str) -> None:
    assert sql(filter_) == expected


def test_rules_add_up_behind_the_condition_of_the_operator() -> None:
    assert sql("n > 5", "m < 3", where="a OR b") == "(a OR b) AND `n` > 5 AND `m` < 3"
    assert sql("n > 5", tables=("crm.*",)) == "" and sql(where="a") == "(a)"
    assert Pushdown([]).tests("shop", "item") == ()


def test_a_test_is_of_one_column() -> None:
    twice = TableShape("shop", "item", (SHAPE.columns[1], ColumnShape("N", types.TINY, 0, True, "`N`")))
    assert condition(twice, (IntegerTest("n", "=", (1,)),), "") == ""
