"""Findings about transforms, over tables as a server would describe them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from replicator.assembly.transform_checks import check, topics
from replicator.config.load import parse_task
from replicator.config.task import TaskConfig
from replicator.model.finding import Finding
from tests.unit.transform.changes import USERS

ORDERS = msgspec.structs.replace(USERS, name="orders_1", columns=USERS.columns[:3])


def task(**transforms: Any) -> TaskConfig:
    source = {"type": "mysql", "user": "u", "password": "env:P"}
    sink = {"type": "kafka", "bootstrap_servers": ["127.0.0.1:1"]}
    return parse_task({"name": "t", "source": source, "sink": sink, "transforms": transforms})


def found(**transforms: Any) -> dict[str, Finding]:
    findings = {finding.id: finding for finding in check(task(**transforms), [USERS, ORDERS])}
    assert all(finding.wanted and finding.fix for finding in findings.values() if finding.severity != "ok")
    return findings


def test_nothing_is_said_of_nothing() -> None:
    assert found() == {}


def test_what_fits() -> None:
    good = found(
        columns=[{"tables": ["shop.*"], "exclude": ["city"]}],
        filter=[{"tables": ["shop.user"], "where": "city = 'Oslo'"}],
    )
    assert {finding.severity for finding in good.values()} == {"ok"}


@pytest.mark.parametrize(
    ("transforms", "finding", "said"),
    [
        ({"columns": [{"tables": ["shop.user"], "exclude": ["emial"]}]}, "fit", "'email'"),
        ({"mask": [{"tables": ["shop.*"], "columns": ["cty"], "fixed": ""}]}, "columns", "'city'"),
        ({"mask": [{"tables": ["shop.usr"], "columns": ["city"], "fixed": ""}]}, "tables", "'shop.user'"),
        ({"filter": [{"tables": ["shop.user"], "where": "age = 'old'"}]}, "fit", "a number"),
        ({"partition_by": [{"by": "columns", "columns": ["age", "citi"]}]}, "fit", "'city'"),
        ({"mask": [{"tables": ["shop.user"], "columns": ["city"], "hash": "env:NOT_SET_HERE"}]}, "keys", "a value"),
        ({"rename": [{"tables": ["*.*"], "table": "one", "database": "all"}]}, "fit", "names that differ"),
    ],
)
def test_what_does_not(transforms: dict[str, Any], finding: str, said: str) -> None:
    bad = found(**transforms)[f"transforms.{finding}"]
    assert bad.severity == "fail"
    assert said in bad.wanted


KEPT: dict[str, Any] = {"tables": ["shop.orders_1"], "columns": ["id"]}


@pytest.mark.parametrize(
    ("transforms", "key"),
    [
        ({"columns": [{"tables": ["shop.user"], "exclude": ["emial"]}]}, "columns[0].exclude"),
        ({"columns": [{"tables": ["shop.user"], "include": ["id", "emial"]}]}, "columns[0].include"),
        (
            {
                "mask": [
                    {**KEPT, "nullify": True, "tables": ["other.t"]},
                    {"tables": ["shop.user"], "columns": ["emial"], "fixed": ""},
                ]
            },
            "mask[1].columns",
        ),
        ({"mask": [{"tables": ["shop.user"], "columns": ["email"], "hash": "env:NOT_SET_HERE"}]}, "mask[0].hash"),
        ({"rename": [{"tables": ["shop.user"], "columns": {"emial": "e"}}]}, "rename[0].columns"),
        ({"filter": [{"tables": ["shop.user"], "where": "emial = 'x'"}]}, "filter[0].where"),
        (
            {"partition_by": [{"by": "columns", "columns": ["emial"], "tables": ["shop.user"]}]},
            "partition_by[0].columns",
        ),
    ],
)
def test_the_key_is_named_to_the_letter(transforms: dict[str, Any], key: str) -> None:
    bad = [finding for finding in found(**transforms).values() if finding.severity == "fail"]
    assert any(f"transforms.{key}" in finding.found for finding in bad), bad


def test_a_rule_for_tables_to_come() -> None:
    assert found(operations=[{"tables": ["later.*"], "skip": ["delete"]}])["transforms.tables"].severity == "warn"


def test_choices_that_give_up_order() -> None:
    loose = found(partition_by=[{"tables": ["shop.user"], "by": "columns", "columns": ["city"]}, {"by": "transaction"}])
    assert loose["transforms.order"].severity == "warn"
    assert loose["transforms.order"].found == "shop.user by city, shop.orders_1 by transaction"
    assert "transforms.order" not in found(partition_by=[{"by": "columns", "columns": ["id"]}])


def test_topics() -> None:
    assert topics(task(), [USERS, ORDERS]) == ["t.shop.orders_1", "t.shop.user"]
    config = task(
        route=[{"match": r"shop\.(\w+?)_\d+", "topic": "$1"}], rename=[{"tables": ["shop.user"], "table": "p"}]
    )
    assert topics(config, [USERS, ORDERS]) == ["orders", "t.shop.p"]
