"""Source and destination of a task in one line."""

from __future__ import annotations

import re
from typing import Any

import pytest

from monitor.formatting import address
from replicator.config import endpoints
from replicator.config.load import parse_task, to_data

KAFKA = {"type": "kafka", "bootstrap_servers": ["k1.rack-b.internal:9092", "k2:9092"]}


@pytest.mark.parametrize(
    ("sink", "shown"),
    [
        (KAFKA, "{task}.{database}.{table}, debezium, kafka k1.rack-b.internal:9092 +1"),
        ({**KAFKA, "topic": "cdc.{table}", "format": "avro"}, "cdc.{table}, avro, kafka k1.rack-b.internal:9092 +1"),
        ({**KAFKA, "format": "maxwell"}, "{task}, maxwell, kafka k1.rack-b.internal:9092 +1"),
        (
            {**KAFKA, "debezium": {"topic_prefix": "shop1"}},
            "shop1.{database}.{table}, debezium, kafka k1.rack-b.internal:9092 +1",
        ),
        ({"type": "file", "path": "out.jsonl", "format": "canal"}, "canal, file out.jsonl"),
        ({"type": "stdout"}, "debezium, stdout"),
        ({"type": "mysql", "host": "t1", "port": 3307}, "mysql t1:3307"),
        ({"type": "mariadb", "hosts": ["t1:3306", "t2:3306"]}, "mariadb t1:3306 +1"),
        ({"type": "kafka", "bootstrap_servers": "odd"}, "{task}.{database}.{table}, debezium, kafka"),
        ({}, ""),
    ],
)
def test_destinations(sink: dict[str, Any], shown: str) -> None:
    assert endpoints.destination({"sink": sink}) == shown


def test_the_topic_is_that_of_the_configuration() -> None:
    source = {"type": "mysql", "host": "db1", "user": "u", "password": "env:REPL_P", "tables": ["shop.*"]}
    for more in ({}, {"topic": "t.{table}"}, {"format": "maxwell"}, {"debezium": {"topic_prefix": "p"}}):
        config = parse_task({"name": "a", "source": source, "sink": {**KAFKA, **more}})
        shown = endpoints.destination(to_data(config))
        assert shown.startswith(f"{config.sink.topic_template}, ")


def test_sources() -> None:
    assert endpoints.source({"source": {"type": "mariadb", "host": "db1", "port": 3306}}) == "mariadb db1:3306"
    topics = {"type": "kafka", "topics": ["a.*", "b"], "bootstrap_servers": ["k:9092"]}
    assert endpoints.source({"source": topics}) == "a.*, b, kafka k:9092"
    for nothing in (None, {}, {"source": "odd"}):
        assert endpoints.source(nothing) == endpoints.destination(nothing) == ""


def test_what_matters_least_is_cut_first() -> None:
    config = {"sink": {**KAFKA, "topic": "cdc.{database}.{table}"}}
    whole = endpoints.destination(config)
    assert endpoints.destination(config, len(whole)) == whole
    assert endpoints.destination(config, 55) == "cdc.{database}.{table}, debezium, kafka k1.rack…9092 +1"
    assert endpoints.destination(config, 44) == "cdc.{database}.{table}, debezium, kafka"
    assert endpoints.destination(config, 20) == "cdc.{datab…}.{table}"
    for limit in range(1, 80):
        assert 0 < len(endpoints.destination(config, limit)) <= limit


def test_on_the_page_an_address_is_cut_in_its_middle() -> None:
    def parts(text: str) -> list[tuple[str, str]]:
        return re.findall('<span class="(.*?)">(.*?)</span>', address(text))

    assert parts("kafka <k1>:9092 +1") == [("kept", "kafka "), ("cut", "&lt;k1&gt;"), ("kept", ":9092 +1")]
    assert parts("stdout") == [("kept", "stdout")]
    assert parts("file out.jsonl") == [("kept", "file "), ("cut", "out.jsonl")]
    assert parts("") == []
