"""Packets, and the descriptors against the .proto file that consumers are given."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from replicator.config.canal import CanalOptions
from replicator.config.task import StdoutSink
from replicator.encode import canal_messages as proto
from replicator.encode import formats
from replicator.model import types
from replicator.model.metadata_event import Statement
from replicator.model.plan import Each, Template, Text, Value, Var
from replicator.model.table import Column, Declared, Table
from replicator.pipeline.ports import Format
from tests.unit.encode.test_canal import ABSENT, MOMENT, Row

DOCS = Path(__file__).parents[3] / "docs"
VARIABLES = {
    "file": '"binlog.000001"',
    "pos": "8642581",
    "server_id": "1",
    "event_ms": "1700000001000",
    "executed": '"u:1-5"',
    "gtid": '"u:5"',
}
TABLE = Table(
    "zoo",
    "t_int",
    (
        Column(0, "id", types.LONG, declared=Declared("INT")),
        Column(1, "biu", types.LONGLONG, unsigned=True, declared=Declared("BIGINT", unsigned=True)),
        Column(2, "v", types.VARCHAR, collation=45, declared=Declared("VARCHAR", ("20",))),
    ),
    primary_key=(0,),
)


def canal(**options: bool) -> Format:
    options = {"flat_message": False, **options}
    return formats["canal"]("task", StdoutSink(type="stdout", format="canal", canal=CanalOptions(**options)), "mysql")


def fill(template: Template, rows: list[Row]) -> str:
    return "".join(_step(step, rows) for step in template)


def _step(step: Any, rows: list[Row]) -> str:
    match step:
        case Text(text):
            return text
        case Var(name):
            return VARIABLES[name]
        case Each(template):
            return ",".join("".join(_step(inner, [row]) for inner in template) for row in rows)
        case Value(column, image, _, null, absent):
            value = rows[0][image][column]
            return absent if value is ABSENT else null if value is None else json.dumps(value)
    raise AssertionError(step)


def unpacked(value: bytes | None) -> tuple[int, Any, Any]:
    """(batch, entry, what is in it)."""
    packet = proto.Packet.FromString(value)
    assert packet.type == 7
    messages = proto.Messages.FromString(packet.body)
    (raw,) = messages.messages
    entry = proto.Entry.FromString(raw)
    kind = {1: proto.TransactionBegin, 2: proto.RowChange, 3: proto.TransactionEnd}[entry.entryType]
    return messages.batch_id, entry, kind.FromString(entry.storeValue)


def packed(form: Format, operation: str, rows: list[Row]) -> tuple[Any, Any]:
    plan = form.plan(TABLE, "t")
    (record,) = getattr(plan, operation)
    assert plan.encode is not None
    key, value = plan.encode(None, fill(record.value, rows).encode())
    assert key is None
    batch, entry, body = unpacked(value)
    assert batch == entry.header.logfileOffset
    return entry.header, body


def test_an_insert() -> None:
    header, body = packed(canal(), "insert", [{"after": ["1", "18446744073709551615", None]}])
    assert (header.schemaName, header.tableName, header.eventType) == ("zoo", "t_int", 1)
    assert (header.logfileName, header.executeTime) == ("binlog.000001", 1700000001000)
    assert [(pair.key, pair.value) for pair in header.props] == [("rowsCount", "1")]
    assert not header.HasField("gtid")
    assert (body.eventType, body.isDdl, body.HasField("isDdl")) == (1, False, True)
    number, big, text = body.rowDatas[0].afterColumns
    assert (number.index, number.sqlType, number.name, number.isKey, number.updated, number.isNull) == (
        0, 4, "id", True, True, False
    )  # fmt: skip
    assert (number.value, number.mysqlType) == ("1", "INT")
    assert (big.sqlType, big.mysqlType, big.isKey) == (3, "BIGINT unsigned", False)
    assert (text.isNull, text.HasField("value"), text.sqlType) == (True, False, 12)


def test_an_update() -> None:
    rows: list[Row] = [
        {"before": ["1", "2", "x"], "after": ["1", "2", "y"]},
        {"before": ["2", "3", None], "after": ["2", "3", ""]},
    ]
    header, body = packed(canal(), "update", rows)
    assert [pair.value for pair in header.props] == ["2"]
    for row, before in zip(body.rowDatas, ("x", ""), strict=True):
        assert [column.updated for column in row.beforeColumns] == [False] * 3
        assert [column.updated for column in row.afterColumns] == [False, False, True]
        assert row.beforeColumns[2].value == before


def test_a_delete_and_partial_images() -> None:
    _, body = packed(canal(), "delete", [{"before": ["1", ABSENT, ABSENT]}])
    (row,) = body.rowDatas
    assert [column.name for column in row.beforeColumns] == ["id"]
    assert not row.afterColumns


def test_gtidon() -> None:
    header, _ = packed(canal(gtidon=True), "delete", [{"before": ["1", "2", None]}])
    assert header.gtid == "u:1-5"
    assert [(pair.key, pair.value) for pair in header.props] == [("curtGtid", "u:5"), ("rowsCount", "1")]


def test_statements() -> None:
    (message,) = canal().statement(Statement("zoo", "ALTER TABLE d ADD c INT", "ALTER TABLE"), MOMENT)
    batch, entry, body = unpacked(message.value)
    assert (message.topic, batch, entry.header.eventLength) == ("task", 11, 88)
    assert (entry.header.schemaName, entry.header.tableName, entry.header.eventType) == ("zoo", "d", 5)
    assert (body.isDdl, body.sql, body.ddlSchemaName, body.eventType) == (True, "ALTER TABLE d ADD c INT", "zoo", 5)
    (message,) = canal().statement(Statement("zoo", "CREATE DATABASE two", "CREATE DATABASE"), MOMENT)
    assert not unpacked(message.value)[1].header.HasField("tableName")


def test_xa() -> None:
    (message,) = canal().statement(Statement("", "XA COMMIT X'01',X'',1", "XA COMMIT"), MOMENT)
    _, entry, body = unpacked(message.value)
    assert (entry.header.eventType, body.eventType, body.HasField("isDdl")) == (13, 13, False)
    assert [(pair.key, pair.value) for pair in body.props] == [("XA_TYPE", "XA COMMIT"), ("XA_XID", " X'01',X'',1")]


def test_transactions() -> None:
    assert "transaction" in canal().interests
    assert "transaction" not in canal(filter_transaction_entry=True).interests
    sink = StdoutSink(type="stdout", format="canal", topic="{table}", canal=CanalOptions(flat_message=False))
    assert "transaction" not in formats["canal"]("task", sink, "mysql").interests
    (begin,), (end,) = canal().begin(MOMENT), canal().end(MOMENT, {})
    _, entry, body = unpacked(begin.value)
    assert (entry.entryType, body.threadId, entry.header.HasField("eventType")) == (1, 7, False)
    assert unpacked(end.value)[1].entryType == 3


@pytest.mark.parametrize("kind", ["enum", "message"])
def test_the_proto_file_says_the_same(kind: str) -> None:
    text = re.sub(r"//[^\n]*", "", (DOCS / "canal.proto").read_text())
    found = {name: " ".join(body.split()) for name, body in re.findall(rf"{kind} (\w+) {{(.*?)\n}}", text, re.DOTALL)}
    if kind == "enum":
        ours = {
            name: " ".join(f"{value} = {number};" for value, number in numbers.items())
            for name, numbers in proto.ENUMS.items()
        }
    else:
        ours = {name: " ".join(map(_declared, fields.split(", "))) for name, fields in proto.MESSAGES.items()}
    assert found == ours


def _declared(field: str) -> str:
    type_, name, number = field.split()
    return f"{'repeated' if type_.endswith('*') else 'optional'} {type_.rstrip('*')} {name} = {number};"
