"""The records of a snapshot that are not of rows, made by a task's planners."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from replicator.assembly.planners import Planners
from replicator.config.load import parse_task, to_data
from replicator.config.task import TaskConfig
from replicator.encode.avro.registry import Registry
from replicator.errors import ConfigError
from replicator.model.metadata_event import Message
from replicator.model.position import Position
from replicator.model.schema_history import ServerDefinitions, TableText
from replicator.model.snapshot_steps import (
    SnapshotBegins,
    SnapshotDefinitions,
    SnapshotEnds,
    SnapshotStep,
    TableBegins,
    TableEnds,
)
from replicator.schema.snapshot_definitions import snapshot_definitions
from tests.unit.encode.test_snapshot_rows import MOMENT, task
from tests.unit.transform.changes import USERS

ITEM = "CREATE TABLE `item` (\n  `id` int NOT NULL,\n  `na``me` varchar(9) DEFAULT 'x',\n  PRIMARY KEY (`id`)\n)"
READING = ServerDefinitions(
    Position("binlog.000001", 4),
    (
        TableText("shop", "odd", "CREATE TABLE `odd` (WHAT IS THIS)"),
        TableText("shop", "item", ITEM),
        TableText("shop", "hidden", None),
        TableText("shop.j", "t", "CREATE TABLE `t` (`a` int)"),
        TableText("other", "t", "CREATE TABLE `t` (`a` int)"),
        TableText("a.b", "t`s", "CREATE TABLE `t``s` (`a` int)"),
    ),
    {"": ("utf8mb4", "utf8mb4_0900_ai_ci"), "a.b": ("utf8mb4", "utf8mb4_bin")}
    | dict.fromkeys(("shop", "shop.j"), ("latin1", "latin1_bin")),
)
STEPS: tuple[SnapshotStep, ...] = (
    SnapshotBegins(),
    TableBegins(USERS, 1795252132),
    TableEnds(USERS, 1795252139, rows=2),
    SnapshotEnds(1795252139, rows=2),
)


def definitions() -> SnapshotDefinitions:
    return snapshot_definitions(READING, lambda database, table: database != "other", mariadb=False)


def messages(planners: Planners, *steps: SnapshotStep) -> list[Message]:
    return [message for step in steps for message in planners.snapshot_messages(step, MOMENT)]


def marked(format_: str, topic: str, **options: Any) -> TaskConfig:
    data = to_data(task(format_, **options))
    return parse_task({**data, "source": {**data["source"], "snapshot": {"mode": "initial", "marker_topic": topic}}})


DONE = SnapshotEnds(12, 40, "needed-2", 5, 3, False, "binlog.000007:4711", "u:1-9", 12_345, "t")


@pytest.mark.parametrize("ordered", [False, True])
def test_debezium_notifies_of_its_end(ordered: bool) -> None:
    planners = Planners(marked("debezium", "about.{task}", schemas_enable=True))
    (made,) = messages(planners, msgspec.structs.replace(DONE, ordered=ordered))
    key, value = json.loads(made.key or b""), json.loads(made.value or b"")
    assert made.topic == "about.t" and made.headers == ()
    assert key["payload"] == {"id": value["payload"]["id"]} and len(value["payload"]["id"]) == 36
    assert list(value["payload"]) == [field["field"] for field in value["schema"]["fields"]]
    assert value["payload"]["type"] == "COMPLETED" and value["payload"]["timestamp"] == 12_345
    assert value["payload"]["aggregate_type"] == ("Incremental Snapshot" if ordered else "Initial Snapshot")
    assert value["payload"]["additional_data"] == {
        "connector_name": "t",
        "snapshot": "needed-2",
        "position": "binlog.000007:4711",
        "gtid": "u:1-9",
        "tables": "3",
        "rows": "40",
    }


@pytest.mark.parametrize("format_", ["maxwell", "canal"])
def test_other_formats_say_it_plainly(format_: str) -> None:
    (made,) = messages(Planners(marked(format_, "done")), DONE)
    assert (made.topic, made.key) == ("done", b"t/needed-2")
    assert json.loads(made.value or b"") == {
        "type": "snapshot-complete",
        "task": "t",
        "snapshot": "needed-2",
        "position": "binlog.000007:4711",
        "gtid": "u:1-9",
        "tables": 3,
        "rows": 40,
        "begun_ms": 5,
        "ts_ms": 12_345,
    }


@pytest.mark.parametrize("format_", ["debezium", "maxwell", "canal"])
def test_nothing_is_said_without_a_topic(format_: str) -> None:
    assert messages(Planners(task(format_)), DONE) == []


def test_a_marker_can_not_be_avro() -> None:
    registry = {"url": "http://127.0.0.1:1"}
    with pytest.raises(ConfigError, match=r"E1003.*marker_topic"):
        marked("debezium", "done", converter="avro", schema_registry=registry)


def test_debezium_begins_with_schema_changes() -> None:
    planners = Planners(task("debezium", extended_headers_enabled=False))
    assert planners.defines_tables
    made = messages(planners, SnapshotBegins(definitions()))
    values = [json.loads(message.value or b"") for message in made]
    assert {message.topic for message in made} == {"t"}
    assert made[1].value == (
        b'{"source":{"version":"3.6.1.Final","connector":"mysql","name":"t","ts_ms":1795252131514,"snapshot":"true",'
        b'"db":"a.b","sequence":null,"ts_us":1795252131514000,"ts_ns":1795252131514000000,"table":"t`s","server_id":0,'
        b'"gtid":null,"file":"binlog.000001","pos":15506318,"row":0,"thread":null,"query":null},"ts_ms":1795252131514,'
        b'"databaseName":"a.b","schemaName":null,"ddl":"DROP TABLE IF EXISTS `a.b`.`t``s`",'
        b'"tableChanges":[{"type":"DROP","id":"\\"a.b\\".\\"t`s\\"","table":null}]}'
    )
    assert [json.loads(message.key or b"")["databaseName"] for message in made] == [
        value["source"]["db"] for value in values
    ]
    assert [(value["source"]["db"], value["source"]["table"], value["ddl"]) for value in values] == [
        ("", None, "SET character_set_server=utf8mb4, collation_server=utf8mb4_0900_ai_ci"),
        ("a.b", "t`s", "DROP TABLE IF EXISTS `a.b`.`t``s`"),
        ("shop", "item", "DROP TABLE IF EXISTS `shop`.`item`"),
        ("shop.j", "t", "DROP TABLE IF EXISTS `shop.j`.`t`"),
        ("shop", "odd", "DROP TABLE IF EXISTS `shop`.`odd`"),
        ("a.b", None, "DROP DATABASE IF EXISTS `a.b`"),
        ("a.b", None, "CREATE DATABASE `a.b` CHARSET utf8mb4 COLLATE utf8mb4_bin"),
        ("a.b", None, "USE `a.b`"),
        ("a.b", "t`s", "CREATE TABLE `t``s` (`a` int)"),
        ("shop", None, "DROP DATABASE IF EXISTS `shop`"),
        ("shop", None, "CREATE DATABASE `shop` CHARSET latin1 COLLATE latin1_bin"),
        ("shop", None, "USE `shop`"),
        ("shop", "item", ITEM),
        ("shop", "odd", "CREATE TABLE `odd` (WHAT IS THIS)"),
        ("shop.j", None, "DROP DATABASE IF EXISTS `shop.j`"),
        ("shop.j", None, "CREATE DATABASE `shop.j` CHARSET latin1 COLLATE latin1_bin"),
        ("shop.j", None, "USE `shop.j`"),
        ("shop.j", "t", "CREATE TABLE `t` (`a` int)"),
    ]  # fmt: skip
    (change,) = values[12]["tableChanges"]
    assert (change["type"], change["table"]["defaultCharsetName"]) == ("CREATE", "latin1")
    assert [(column["name"], column["charsetName"]) for column in change["table"]["columns"]] == [
        ("id", None),
        ("na`me", "latin1"),
    ]
    assert values[13]["tableChanges"] == [], "a text that is not understood is written all the same"
    assert messages(planners, SnapshotBegins(definitions())) == made, "the same inputs give the same messages"
    assert messages(planners, *STEPS) == []


def test_debezium_without_schema_changes() -> None:
    planners = Planners(task("debezium", include_schema_changes=False))
    assert not planners.defines_tables
    assert messages(planners, SnapshotBegins(definitions()), *STEPS) == []


def test_avro_and_schemas_of_schema_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    subjects: dict[str, int] = {}
    monkeypatch.setattr(Registry, "id", lambda self, subject, schema: subjects.setdefault(subject, 7))
    registry: dict[str, Any] = {"converter": "avro", "schema_registry": {"url": "http://registry:8081"}}
    made = messages(Planners(task("debezium", **registry)), SnapshotBegins(definitions()))
    assert len(made) == 18
    assert {(message.value or b"")[:5] for message in made} == {b"\0\0\0\0\x07"}
    assert set(subjects) == {"t-key", "t-value"}
    (first, *_) = messages(Planners(task("debezium", schemas_enable=True)), SnapshotBegins(definitions()))
    assert json.loads(first.value or b"")["schema"]["name"] == "io.debezium.connector.mysql.SchemaChangeValue"


def test_names_that_the_server_stores_in_lower_case() -> None:
    reading = msgspec.structs.replace(READING, folded=True, tables=(TableText("shop", "Item", ITEM),))
    made = snapshot_definitions(reading, lambda database, table: True, mariadb=False)
    table = made.table(made.tables[0])
    assert table is not None and (table.name, len(table.columns)) == ("Item", 2)


def test_maxwell_begins_and_ends_each_table() -> None:
    wanted = ("primary_keys", "primary_key_columns", "schema_id", "xoffset", "binlog_position", "thread_id")
    options: dict[str, Any] = {f"output_{name}": True for name in wanted}
    planners = Planners(task("maxwell", **options))
    assert not planners.defines_tables
    start, end = messages(planners, *STEPS)
    assert (start.topic, start.key, start.route) == ("t", b'{"database":"shop","table":"user","pk.id":null}', b"shop")
    assert start.value == (
        b'{"database":"shop","table":"user","type":"bootstrap-start","ts":1795252132,"primary_key":[null],'
        b'"primary_key_columns":["id"],"data":{}}'
    )
    key = json.loads(end.key or b"")
    assert list(key) == ["database", "table", "_uuid"], "as Maxwell does, which has no key at hand there"
    assert end.value == (
        b'{"database":"shop","table":"user","type":"bootstrap-complete","ts":1795252139,"primary_key":[],'
        b'"primary_key_columns":[],"data":{}}'
    )
    assert messages(planners, *STEPS) == [start, end]
    plain, _ = messages(Planners(task("maxwell")), *STEPS)
    assert plain.value == b'{"database":"shop","table":"user","type":"bootstrap-start","ts":1795252132,"data":{}}'


@pytest.mark.parametrize(
    ("by", "route"), [("table", b"user"), ("primary_key", None), ("transaction_id", None), ("database", b"shop")]
)
def test_partitions_of_maxwell(by: str, route: bytes | None) -> None:
    assert [one.route for one in messages(Planners(task("maxwell", producer_partition_by=by)), *STEPS)] == [route] * 2


def test_array_keys_of_maxwell() -> None:
    start, end = messages(Planners(task("maxwell", kafka_key_format="array")), *STEPS)
    assert (start.key, end.key) == (b'["shop","user",[{"id":null}]]', b'["shop","user",[]]')


@pytest.mark.parametrize("flat", [True, False])
def test_canal_has_none(flat: bool) -> None:
    planners = Planners(task("canal", flat_message=flat))
    assert not planners.defines_tables
    assert messages(planners, SnapshotBegins(definitions()), *STEPS) == []


def test_transforms_apply_to_the_messages_of_a_table() -> None:
    """Its names and topic are those of its rows, and keys have the columns that these have."""
    transforms: dict[str, Any] = {
        "rename": [{"tables": ["shop.user"], "columns": {"id": "number"}, "database": "crm", "table": "person"}],
        "route": [{"match": r"shop\.user", "topic": "people", "key_field": "kind"}],
    }
    start, end = messages(Planners(task("maxwell", transforms)), *STEPS)
    assert {start.topic, end.topic} == {"people"}
    assert json.loads(start.key or b"") == {
        "database": "crm", "table": "person", "pk.number": None, "pk.kind": None,
    }  # fmt: skip
    assert json.loads(end.value or b"")["table"] == "person"
    skipped = {"operations": [{"tables": ["shop.user"], "skip": ["insert"]}]}
    assert messages(Planners(task("maxwell", skipped)), *STEPS) == []
    other = TableBegins(msgspec.structs.replace(USERS, database="elsewhere"), 1)
    assert messages(Planners(task("maxwell")), other) == []
