"""`replicator check`: rules of `sink.conflict` that the tables of the target do not fit."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dev.servers.database import Database
from tests.integration.test_target_check import KINDS, Pair, paired


@pytest.fixture(params=KINDS)
def same(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Pair]:
    server: Database = request.getfixturevalue(request.param)
    yield from paired(monkeypatch, server, server)


def shown(pair: Pair, **changes: object) -> list[tuple[str, str]]:
    return [(finding.severity, finding.found) for finding in pair.found("conflicts", **changes)]


def test_nothing_is_said_without_rules(same: Pair) -> None:
    same.tables("t", "(id INT)")
    assert shown(same) == []
    assert shown(same, conflict="stop") == []


def test_tables_that_can_be_resolved(same: Pair) -> None:
    same.tables("t", "(id INT PRIMARY KEY, at DATETIME NOT NULL)")
    found = shown(same, conflict={"policy": "newest_wins", "column": "AT"})
    assert [severity for severity, _ in found] == ["ok", "ok"]
    assert "replicator_conflicts can be created" in found[0][1]


@pytest.mark.parametrize(
    "definition", ["(id INT)", "(id DOUBLE PRIMARY KEY)", "(id TEXT, PRIMARY KEY (id(9)))", "(id INT, UNIQUE (id))"]
)
def test_keys_that_do_not_find_a_row(same: Pair, definition: str) -> None:
    same.tables("t", definition)
    same.tables("other", "(id INT PRIMARY KEY)")
    assert (shown(same, conflict="source_wins")[1]) == ("fail", f"no such key: {same.at_target}.t")
    assert shown(same, conflict={"policy": "stop", "compare": "row"})[1][0] == "fail"
    first = {"tables": ["*.t"], "policy": "stop"}
    assert shown(same, conflict=[first, {"policy": "source_wins"}])[1][0] == "ok"


@pytest.mark.parametrize(
    ("column", "found"),
    [
        ("v VARCHAR(9) NOT NULL", "v is varchar(9)"),
        ("v DECIMAL(9,2) NOT NULL", "v is decimal(9,2)"),
        ("v DATETIME(6)", "v may be NULL"),
        ("w INT", "v: no such column"),
    ],
)
def test_columns_that_newest_wins_cannot_compare(same: Pair, column: str, found: str) -> None:
    same.tables("t", f"(id INT PRIMARY KEY, {column})")
    said = shown(same, conflict={"policy": "newest_wins", "column": "v"})[1]
    assert said == ("fail", f"{same.at_target}.t.{found}")


def test_an_excluded_column_is_not_there(same: Pair) -> None:
    same.tables("t", "(id INT PRIMARY KEY, v INT NOT NULL DEFAULT 0)")
    transforms = {"columns": [{"tables": [f"{same.at_source}.t"], "exclude": ["v"]}]}
    said = shown(same, conflict={"policy": "newest_wins", "column": "v"}, transforms=transforms)[1]
    assert said == ("fail", f"{same.at_target}.t.v: no such column")


def test_table_of_conflicts(same: Pair) -> None:
    said = shown(same, conflict="source_wins", create_position_table=False)
    assert said[0][0] == "fail"
    assert "missing" in said[0][1]
