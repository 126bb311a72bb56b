"""`sink.type: mysql | mariadb`: its keys, what it excludes, and code that is the same for all sinks."""

from __future__ import annotations

from typing import Any

import pytest

from replicator.cli.run_state import sink_of
from replicator.config.ddl import rules_of
from replicator.config.destinations import brokers, targets
from replicator.config.load import parse_task, to_data
from replicator.config.mysql_sink import MySQLSink
from replicator.config.numbering import follows_events, rule
from replicator.errors import ConfigError

SINK = {"type": "mysql", "host": "db2", "user": "writer", "password": "env:W"}


def task(sink: dict[str, Any] | None = None, source: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    found = {"type": "mysql", "host": "db1", "user": "r", "password": "env:R", **(source or {})}
    return {"name": "copy", "source": found, "sink": {**SINK, **(sink or {})}, **more}


def test_defaults_and_round_trip() -> None:
    config = parse_task(task())
    assert isinstance(config.sink, MySQLSink)
    assert config.sink.position_database == "replicator"
    assert parse_task(to_data(config)) == config


@pytest.mark.parametrize(
    ("ddl", "altered", "dropped", "others"),
    [
        (None, "apply", "stop", "ignore"),
        ("apply", "apply", "apply", "ignore"),
        ("stop", "stop", "stop", "ignore"),
        ("ignore", "ignore", "ignore", "ignore"),
        ({"drop_database": "ignore", "others": "stop"}, "apply", "ignore", "stop"),
    ],
)
def test_statements(ddl: Any, altered: str, dropped: str, others: str) -> None:
    config = parse_task(task({} if ddl is None else {"ddl": ddl}))
    assert isinstance(config.sink, MySQLSink)
    rules = rules_of(config.sink.ddl)
    found = rules.action("ALTER TABLE"), rules.action("DROP DATABASE"), rules.action("GRANT")
    assert found == (altered, dropped, others)
    assert rules.applies == ("apply" in found)
    assert parse_task(to_data(config)) == config


@pytest.mark.parametrize("ddl", ["never", {"others": "apply"}, {"alter": "apply"}])
def test_statements_refused(ddl: Any) -> None:
    with pytest.raises(ConfigError, match="E100"):
        parse_task(task({"ddl": ddl}))


def test_errors_name_the_section() -> None:
    with pytest.raises(ConfigError, match=r"sink\.host and sink\.hosts are both given"):
        parse_task(task({"hosts": ["a:1"]}))
    with pytest.raises(ConfigError, match="E1002"):
        parse_task(task({"topic": "x"}))


@pytest.mark.parametrize(
    ("more", "key"),
    [
        ({"source": {"row_image": "accept_partial"}}, "accept_partial"),
        ({"source": {"snapshot": {"mode": "initial", "marker_topic": "t"}}}, "marker_topic"),
        ({"source": {"snapshot": {"where": {"shop.item": "id > 1"}}}}, r"snapshot\.where"),
        ({"source": {"snapshot": {"without_key": "read"}}}, "without_key"),
        ({"transforms": {"route": [{"match": "shop.*", "topic": "t"}]}}, "transforms.route"),
        ({"transforms": {"partition_by": [{"by": "table"}]}}, "transforms.partition_by"),
    ],
)
def test_keys_that_make_no_sense_with_it_are_refused(more: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError, match=f"E3441.*{key}"):
        parse_task(task(**more))


def test_code_for_all_sinks() -> None:
    config, data = parse_task(task()), task({"host": "db2", "port": 3307})
    assert rule(config) != rule(parse_task(task(transforms={"operations": [{"skip": ["delete"]}]})))
    assert not follows_events(config)
    assert sink_of(config) == "mysql: db2:3306, replicator"
    assert targets(data) == (("db2", 3307),) and brokers(data) == ()
    assert targets(task({"hosts": ["a:1", "b:2"], "host": None})) == (("a", 1), ("b", 2))
