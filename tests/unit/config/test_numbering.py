"""What a record's number in its transaction depends on."""

from __future__ import annotations

from typing import Any

import pytest

from replicator.config.load import parse_task
from replicator.config.numbering import follows_events, rule

SOURCE = {"type": "mysql", "user": "u", "password": "env:P", "tables": ["a.*", "b.*"]}
SINK = {"type": "kafka", "bootstrap_servers": ["k:9092"]}
TASK = {"name": "t", "source": SOURCE, "sink": SINK}


def of(*left_out: str, only: str = "", source: dict[str, Any] | None = None, **more: Any) -> str:
    sink = {**SINK, **more.pop("sink", {})}
    return rule(parse_task({**TASK, "source": {**SOURCE, **(source or {})}, "sink": sink, **more}), left_out, only)


@pytest.mark.parametrize(
    "changed",
    [
        {"source": {"tables": ["a.*"]}},
        {"source": {"tables": ["a.*", "b.*", "!b.c"]}},
        {"source": {"online_schema_change": "show"}},
        {"source": {"row_image": "accept_partial"}},
        {"source": {"type": "mariadb"}},
        {"sink": {"format": "maxwell"}},
        {"sink": {"debezium": {"provide_transaction_metadata": True}}},
        {"sink": {"debezium": {"tombstones_on_delete": False}}},
        {"transforms": {"filter": [{"tables": ["a.*"], "where": "id > 5"}]}},
        {"transforms": {"operations": [{"tables": ["a.*"], "skip": ["delete"]}]}},
    ],
)
def test_whatever_changes_the_records_changes_it(changed: dict[str, Any]) -> None:
    assert of(**changed) != of()


def test_tables_in_quarantine_and_being_caught_up_with() -> None:
    assert len({of(), of("a.t"), of("a.t", "a.u"), of(only="a.t")}) == 4
    assert of("a.t", "a.u") == of("a.u", "a.t")


@pytest.mark.parametrize(
    "changed",
    [
        {"source": {"tables": ["b.*", "a.*"]}},
        {"source": {"host": "another", "port": 3307, "password": "env:Q", "user": "v"}},
        {"source": {"start": "earliest"}},
        {"sink": {"delivery": "at_least_once", "compression": "lz4", "topic": "{table}"}},
        {"sink": {"maxwell": {}}},
        {"checkpoint_interval_ms": 5, "max_transaction_bytes": 1 << 20},
    ],
)
def test_what_only_moves_them_does_not(changed: dict[str, Any]) -> None:
    assert of(**changed) == of()


@pytest.mark.parametrize("format_", ["debezium", "maxwell", "canal"])
def test_records_that_follow_a_servers_events(format_: str) -> None:
    """Canal: a record for each row event, and one for the statement behind it where the server logs that."""
    config = parse_task({**TASK, "source": SOURCE, "sink": {**SINK, "format": format_}})
    assert follows_events(config) == (format_ == "canal")
