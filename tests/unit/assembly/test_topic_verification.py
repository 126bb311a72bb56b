"""What the comparison with topics makes of records, and which tasks it refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, cast

import pytest

from replicator.assembly.rendered_rows import key_notation
from replicator.assembly.topic_verification import TopicRecords, check_readable
from replicator.config.load import parse_task
from replicator.config.task import KafkaSink
from replicator.decode.topics.row_states import reader
from replicator.errors import DecodeError, ProcessError
from replicator.model import types
from replicator.mysql.table_shape import ColumnShape
from replicator.sink.kafka.topic_reader import TopicFacts, TopicReader, TopicRecord
from replicator.verify.topics.states import Change, Emptied


class Topics:
    places = (("p.d.t", 0), ("p.other", 2))

    def __init__(self, *records: TopicRecord) -> None:
        self.records = records

    def following(self) -> Iterator[TopicRecord]:
        return iter(self.records)

    def at(self, places: Sequence[tuple[int, int]]) -> Iterator[TopicRecord]:
        return (each for each in self.records if (each.place, each.offset) in places)


def envelope(op: str, **rows: Any) -> bytes:
    return json.dumps({"before": None, "after": None, **rows, "source": {"db": "d", "table": "t"}, "op": op}).encode()


def said(*records: TopicRecord) -> list[Any]:
    made = TopicRecords(
        cast(TopicReader, Topics(*records)), reader("debezium"), {"d.t": ("e", "u")}, {"p.d.t": ("e", "u")}
    )
    return list(made.following())


def test_tombstones_of_a_topic_that_one_table_has() -> None:
    """In a compacted topic nothing else may be left of a delete; in a shared one the key does not name the table."""
    ((_, _, (change,)), shared) = said(TopicRecord(0, 5, b'{"id":1}', None), TopicRecord(1, 6, b'{"id":1}', None))
    assert isinstance(change, Change)
    assert (change.database, change.table, change.after) == ("e", "u", None)
    assert change.before is not None and bytes(change.before["id"]) == b"1"
    assert shared == (1, 6, [])


def test_truncate_has_the_name_of_the_source() -> None:
    assert said(TopicRecord(0, 1, None, envelope("t"))) == [(0, 1, [Emptied("e", "u")])]


def test_a_record_that_cannot_be_read_is_named() -> None:
    with pytest.raises(DecodeError) as raised:
        said(TopicRecord(1, 9, None, b"text"))
    assert (raised.value.code, raised.value.position) == ("E2348", "p.other:2:9")


@pytest.mark.parametrize(
    ("sink", "source", "found"),
    [
        ({}, {}, ""),
        ({"format": "maxwell"}, {}, ""),
        ({"format": "canal"}, {}, ""),
        ({"format": "canal", "canal": {"flat_message": False}}, {}, "flat_message"),
        ({"debezium": {"unwrap": {}}}, {}, "unwrap"),
        ({"debezium": {"converter": "avro", "schema_registry": {"url": "http://r:1"}}}, {}, "avro"),
        ({}, {"row_image": "accept_partial"}, "row_image"),
    ],
)
def test_tasks_that_are_refused(sink: dict[str, Any], source: dict[str, Any], found: str) -> None:
    config = parse_task(
        {
            "name": "copy",
            "source": {"type": "mysql", "host": "h", "user": "u", "password": "env:P", **source},
            "sink": {"type": "kafka", "bootstrap_servers": ["h:1"], **sink},
        }
    )
    assert isinstance(config.sink, KafkaSink)
    if not found:
        check_readable(config, config.sink)
        return
    with pytest.raises(ProcessError) as raised:
        check_readable(config, config.sink)
    assert raised.value.code == "E5044" and found in raised.value.found


def test_keys_whose_values_are_read_back() -> None:
    def of(kind: int, **options: Any) -> Any:
        sink = KafkaSink(type="kafka", bootstrap_servers=("h:1",), **options)
        return key_notation(sink)(ColumnShape("id", kind, 0, False, "`id`", collation=255))

    assert of(types.LONG) == "int_java"
    assert of(types.DATETIME2) == "datetime_ms"
    assert of(types.DATETIME2, debezium={"time_precision_mode": "microseconds"}) == "datetime_us"
    assert of(types.DATE, debezium={"time_precision_mode": "isostring"}) is None
    assert of(types.NEWDECIMAL, debezium={"decimal_handling_mode": "double"}) == "decimal_number"
    assert of(types.VARCHAR, format="canal") == "text" and of(types.BIT, format="canal") is None
    assert of(types.VARCHAR, format="maxwell") == "text"


def test_what_may_have_expired() -> None:
    assert TopicFacts(1, "delete", (5,)).deletes and TopicFacts(1, "", (5,)).deletes
    assert TopicFacts(1, "compact,delete", ()).deletes and TopicFacts(1, "compact,delete", ()).compacted
    assert not TopicFacts(1, "compact", (5,)).deletes
