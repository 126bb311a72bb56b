"""Rows of a snapshot in each format: plans run over a streamed INSERT, by both decoders."""

from __future__ import annotations

import json
from typing import Any, get_args

import msgspec
import pytest

from replicator.assembly.planners import Planners
from replicator.config.load import parse_task
from replicator.config.task import TaskConfig
from replicator.decode.native.compiled_decoder import decoder_class
from replicator.encode import canal_messages as proto
from replicator.encode.avro.registry import Registry
from replicator.model.batch import Record
from replicator.model.plan import TablePlan
from replicator.model.position import Position
from replicator.model.snapshot import Marker, SnapshotMoment
from replicator.model.table import Table
from tests.unit.compiled import both
from tests.unit.compiled.test_avro import program
from tests.unit.decode.binlog_writer import records, server_error
from tests.unit.transform.changes import ANN, BOB, USERS, Script

MOMENT = SnapshotMoment("binlog.000001", 15506318, 1795252131514)
MARKERS = get_args(Marker)
NOW = 1_795_252_131_451_848_525
INSERT = Script().change(USERS, "insert", ANN, BOB)
KEYLESS = msgspec.structs.replace(USERS, primary_key=())


def task(format_: str, transforms: dict[str, Any] | None = None, **options: Any) -> TaskConfig:
    source = {"type": "mysql", "user": "u", "password": "env:P", "tables": ["shop.*"]}
    sink = {"type": "stdout", "format": format_, format_: options}
    return parse_task({"name": "t", "source": source, "sink": sink, "transforms": transforms or {}})


def snapshot(config: TaskConfig, marker: Marker = "true", script: Script = INSERT) -> list[Record]:
    """Made by the decoder in use, compiled where it is."""
    decoder = decoder_class()(
        Planners(config).snapshot(marker, MOMENT),
        position=Position("binlog.000009", 4),
        flavor="mysql",
        framing="file",
        server_error=server_error,
        clock=lambda: NOW,
    )
    return records(decoder.feed(script.raw))


def values(made: list[Record]) -> list[Any]:
    return [json.loads(record[2] or b"null") for record in made]


def test_debezium() -> None:
    first, second = snapshot(task("debezium", extended_headers_enabled=False), "first")
    assert (first[0], first[1]) == ("t.shop.user", b'{"id":1}')
    assert first[2] == (
        b'{"before":null,"after":{"id":1,"email":"ann@example.org","age":41,"city":"Oslo"},'
        b'"source":{"version":"3.6.1.Final","connector":"mysql","name":"t","ts_ms":1795252131000,"snapshot":"first",'
        b'"db":"shop","sequence":null,"ts_us":1795252131000000,"ts_ns":1795252131000000000,"table":"user",'
        b'"server_id":0,"gtid":null,"file":"binlog.000001","pos":15506318,"row":0,"thread":null,"query":null},'
        b'"transaction":null,"op":"r","ts_ms":1795252131451,"ts_us":1795252131451848,"ts_ns":1795252131451848525}'
    )
    assert second[1] == b'{"id":2}'
    assert not first[5]


@pytest.mark.parametrize("marker", MARKERS)
def test_the_marker_of_debezium(marker: Marker) -> None:
    made = values(snapshot(task("debezium"), marker))
    assert [(value["op"], value["source"]["snapshot"], value["source"]["row"]) for value in made] == [
        ("r", marker, 0),
        ("r", marker, 0),
    ]
    exact = "1795252131514" if marker == "incremental" else "1795252131000"
    assert {value["source"]["ts_us"] for value in made} == {int(exact) * 1000}


def test_options_of_debezium() -> None:
    """Neither transactions nor statements: a snapshot's row is of none; and it is no `c`, so it can't be skipped."""
    options: dict[str, Any] = {
        "provide_transaction_metadata": True,
        "include_query": True,
        "skipped_operations": ["c", "t"],
    }
    (value, _) = values(snapshot(task("debezium", **options)))
    assert value["transaction"] is None
    assert value["source"]["query"] is None
    flat = {"delete_tombstone_handling_mode": "rewrite", "add_fields": ["op", "source.pos", "source.ts_ms", "table"]}
    (row, _) = values(snapshot(task("debezium", unwrap=flat)))
    assert row == {
        "id": 1, "email": "ann@example.org", "age": 41, "city": "Oslo",
        "__deleted": "false", "__op": "r", "__source_pos": 15506318, "__source_ts_ms": 1795252131000, "__table": "user",
    }  # fmt: skip
    (with_schema, _) = values(snapshot(task("debezium", schemas_enable=True), "incremental"))
    (source,) = (field for field in with_schema["schema"]["fields"] if field["field"] == "source")
    (allowed,) = (each["parameters"]["allowed"] for each in source["fields"] if each["field"] == "snapshot")
    assert set(MARKERS) <= set(allowed.split(","))


def test_avro_has_the_subjects_and_schemas_of_streamed_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    book: dict[tuple[str, str], int] = {}
    monkeypatch.setattr(Registry, "id", lambda self, *key: book.setdefault(key, 70_000 + len(book)))
    planners = Planners(task("debezium", converter="avro", schema_registry={"url": "http://registry:8081"}))

    def made(plan: TablePlan | None) -> bytes:
        assert plan is not None and plan.encode is not None
        key, value = plan.encode(b'{"id":1}', json.dumps(sample).encode())
        assert key is not None and value is not None
        return key[:5] + value[:5]

    (sample,) = values(snapshot(task("debezium"), "last"))[:1]
    streamed = made(planners.stream(USERS))
    assert len(book) == 2
    for marker in MARKERS:
        assert made(planners.snapshot(marker, MOMENT)(USERS)) == streamed
    assert len(book) == 2


def test_maxwell() -> None:
    """Of no transaction: nothing of the binlog's is in it."""
    everything: dict[str, Any] = {
        f"output_{name}": True
        for name in (
            "binlog_position", "gtid_position", "server_id", "thread_id", "row_query", "primary_keys",
            "primary_key_columns", "xoffset", "commit_info",
        )
    }  # fmt: skip
    first, second = snapshot(task("maxwell", **everything))
    assert (first[0], first[1]) == ("t", b'{"database":"shop","table":"user","pk.id":1}')
    assert first[2] == (
        b'{"database":"shop","table":"user","type":"bootstrap-insert","ts":1000,"primary_key":[1],'
        b'"primary_key_columns":["id"],"data":{"id":1,"email":"ann@example.org","age":41,"city":"Oslo"}}'
    )
    assert values([second])[0]["data"] == dict(zip(("id", "email", "age", "city"), BOB, strict=True))
    assert values(snapshot(task("maxwell", output_nulls=False)))[1]["data"] == {"id": 2, "email": "bob@example.org"}
    assert '"schema_id":' in str(snapshot(task("maxwell", output_schema_id=True))[0][2])


@pytest.mark.parametrize(
    ("by", "keyed", "keyless"),
    [
        ("database", b"shop", b"shop"),
        ("table", b"user", b"user"),
        ("primary_key", b'{"database":"shop","table":"user","pk.id":1}', b"shopuser"),
        ("transaction_id", b'{"database":"shop","table":"user","pk.id":1}', b"shopuser"),
    ],
)
def test_partitions_of_maxwell(by: str, keyed: bytes, keyless: bytes) -> None:
    def chosen(table: Table) -> bytes | None:
        record = snapshot(task("maxwell", producer_partition_by=by), "true", Script().change(table, "insert", ANN))[0]
        return record[6] if len(record) == 7 else record[1]

    assert chosen(USERS) == keyed
    if keyless != b"shopuser":
        assert chosen(KEYLESS) == keyless
    plan = Planners(task("maxwell", producer_partition_by=by)).snapshot("true", MOMENT)(KEYLESS)
    assert plan is not None and plan.route is not None
    assert "".join(getattr(step, "text", "?") for step in plan.route).encode() == keyless


def test_canal() -> None:
    (message,) = snapshot(task("canal", gtidon=True))
    assert message[1] is None
    (value,) = values([message])
    assert [row["id"] for row in value.pop("data")] == ["1", "2"]
    assert value.pop("mysqlType").keys() == value.pop("sqlType").keys()
    assert value == {
        "database": "shop", "es": 1000000, "gtid": "", "id": 15506318, "isDdl": False, "old": None, "pkNames": ["id"],
        "sql": "", "table": "user", "ts": NOW // 1_000_000, "type": "INSERT",
    }  # fmt: skip


def test_canal_protobuf() -> None:
    (message,) = snapshot(task("canal", flat_message=False, gtidon=True))
    messages = proto.Messages.FromString(proto.Packet.FromString(message[2]).body)
    entry = proto.Entry.FromString(messages.messages[0])
    header = entry.header
    assert messages.batch_id == header.logfileOffset == 15506318
    assert (header.logfileName, header.serverId, header.gtid) == ("binlog.000001", 0, "")
    assert (header.executeTime, header.tableName) == (1000000, "user")
    assert [(pair.key, pair.value) for pair in header.props] == [("rowsCount", "2")]
    change = proto.RowChange.FromString(entry.storeValue)
    assert change.eventType == proto.ENUMS["EventType"]["INSERT"]
    assert [column.value for column in change.rowDatas[0].afterColumns] == ["1", "ann@example.org", "41", "Oslo"]


@pytest.mark.parametrize("marker", ["true", "incremental"])
@pytest.mark.parametrize("format_", ["debezium", "maxwell", "canal", "protobuf", "avro"])
def test_compiled_programs_write_them(format_: str, marker: Marker, monkeypatch: pytest.MonkeyPatch) -> None:
    """None is left to the slow path."""
    monkeypatch.setattr(Registry, "id", lambda self, *key: 7)
    plan = both.format_of(format_).snapshot_plan(USERS, "topic", marker, MOMENT)
    assert program(plan, USERS) is not None


@pytest.mark.parametrize("format_", ["debezium", "maxwell", "canal"])
def test_transforms_apply_as_to_streamed_rows(format_: str) -> None:
    transforms: dict[str, Any] = {
        "columns": [{"tables": ["shop.user"], "exclude": ["age"]}],
        "mask": [{"tables": ["shop.user"], "columns": ["email"], "keep_last": 4}],
        "rename": [{"tables": ["shop.user"], "columns": {"city": "town"}, "table": "person"}],
        "filter": [{"tables": ["shop.user"], "where": "city = 'Oslo'"}],
        "route": [{"match": r"shop\.user", "topic": "people", "key_field": "kind"}],
    }
    (record,) = snapshot(task(format_, transforms))
    value = values([record])[0]
    row = value["after"] if format_ == "debezium" else value["data"][0] if format_ == "canal" else value["data"]
    assert (record[0], row.pop("id")) == ("people", "1" if format_ == "canal" else 1)
    assert row == {"email": "***********.org", "town": "Oslo", "kind": "user"}


def test_tables_that_are_not_replicated_and_inserts_that_are_skipped() -> None:
    assert Planners(task("debezium")).snapshot("true", MOMENT)(msgspec.structs.replace(USERS, database="x")) is None
    skipped = {"operations": [{"tables": ["shop.user"], "skip": ["insert"]}]}
    assert snapshot(task("debezium", skipped)) == []


@pytest.mark.parametrize(
    ("by", "route"), [("transaction", b'{"id":1}'), ("table", b"shop.user"), ("columns", b'["Oslo"]')]
)
def test_partitions_by_transforms(by: str, route: bytes) -> None:
    """A row of a snapshot is of no transaction, and not all of them shall be in one partition."""
    rule = {"by": by} | ({"columns": ["city"]} if by == "columns" else {})
    record = snapshot(task("debezium", {"partition_by": [rule]}))[0]
    assert (record[6] if len(record) == 7 else record[1]) == route
