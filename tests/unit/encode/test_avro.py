"""Avro schemas and values, and the records of the format, with an ids' book in place of a registry."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any

import fastavro
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.config.debezium import DebeziumOptions
from replicator.config.load import parse_task
from replicator.config.task import StdoutSink
from replicator.encode import formats
from replicator.encode.avro.format import AvroDebezium
from replicator.encode.avro.registry import Registry
from replicator.encode.avro.schema import avro
from replicator.encode.avro.shapes import shape
from replicator.encode.avro.writer import Writer
from replicator.errors import ConfigError, DecodeError, ReplicatorError
from replicator.model import types
from replicator.model.metadata_event import Moment, Statement, TableChange
from replicator.model.plan import Text, Value
from replicator.model.table import Column, Declared, Table
from replicator.pipeline.ports import Format

LATIN1, BINARY = 8, 63
MOMENT = Moment(1, 1_000_000, 2_000_000_000, "", "", "binlog.000001", 4, 100, 7)


def column(index: int, name: str, kind: int, meta: int = 0, **more: Any) -> Column:
    return Column(index, name, kind, meta, more.pop("nullable", True), **more)


TABLE = Table(
    "shop",
    "orders",
    (
        column(0, "id", types.LONG, nullable=False),
        column(
            1,
            "price",
            types.NEWDECIMAL,
            9 << 8 | 2,
            declared=Declared("DECIMAL", ("9", "2"), has_default=True, default="1.00"),
        ),
        column(2, "state", types.ENUM, 1, members=("new", "done"), nullable=False),
        column(3, "small", types.TINY),
        column(4, "day", types.DATE),
    ),
    primary_key=(0,),
)


@pytest.fixture
def ids(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Subject -> its schemas; an id is the number of schemas so far."""
    book: dict[str, list[str]] = {}

    def register(self: Registry, subject: str, schema: str) -> int:
        versions = book.setdefault(subject, [])
        if schema not in versions:
            versions.append(schema)
        return sum(map(len, book.values()))

    monkeypatch.setattr(Registry, "id", register)
    return book


def made(**options: Any) -> AvroDebezium:
    given = DebeziumOptions(converter="avro", schema_registry={"url": "http://registry:8081"}, **options)
    form = formats["debezium"]("task", StdoutSink(type="stdout", debezium=given), "mysql")
    assert isinstance(form, AvroDebezium)
    return form


def read(schema: str | dict[str, Any], data: bytes) -> Any:
    parsed = fastavro.parse_schema(json.loads(schema) if isinstance(schema, str) else schema)
    rest = BytesIO(data)
    value = fastavro.schemaless_reader(rest, parsed, None)
    assert not rest.read()
    return value


# Schemas


def test_a_row_has_the_schema_that_confluents_converter_makes() -> None:
    options = DebeziumOptions(converter="avro", schema_registry={"url": "http://r"}, time_precision_mode="connect")
    schemas = shape(TABLE, "task.shop.orders", options)
    assert schemas.key is not None
    assert json.dumps(avro(json.loads(schemas.key)), separators=(",", ":")) == (
        '{"type":"record","name":"Key","namespace":"task.shop.orders","fields":[{"name":"id","type":"int"}],'
        '"connect.name":"task.shop.orders.Key"}'
    )
    envelope = avro(json.loads(schemas.value))
    fields = {field["name"]: field for field in envelope["fields"]}
    assert list(fields) == ["before", "after", "source", "transaction", "op", "ts_ms", "ts_us", "ts_ns"]
    assert (envelope["name"], envelope["namespace"]) == ("Envelope", "task.shop.orders")
    assert (envelope["connect.version"], envelope["connect.name"]) == (2, "task.shop.orders.Envelope")
    assert fields["after"] == {"name": "after", "type": ["null", "Value"], "default": None}
    assert fields["transaction"]["type"][1]["connect.name"] == "event.block"
    assert json.dumps(fields["before"]["type"], separators=(",", ":")) == (
        '["null",{"type":"record","name":"Value","fields":[{"name":"id","type":"int"},'
        '{"name":"price","type":[{"type":"bytes","scale":2,"precision":9,"connect.version":1,'
        '"connect.parameters":{"scale":"2","connect.decimal.precision":"9"},"connect.default":"d",'
        '"connect.name":"org.apache.kafka.connect.data.Decimal","logicalType":"decimal"},"null"],"default":"d"},'
        '{"name":"state","type":{"type":"string","connect.version":1,"connect.parameters":{"allowed":"new,done"},'
        '"connect.name":"io.debezium.data.Enum"}},'
        '{"name":"small","type":["null",{"type":"int","connect.type":"int16"}],"default":null},'
        '{"name":"day","type":["null",{"type":"int","connect.version":1,'
        '"connect.name":"org.apache.kafka.connect.data.Date","logicalType":"date"}],"default":null}],'
        '"connect.name":"task.shop.orders.Value"}]'
    )
    source = fields["source"]["type"]
    assert (source["name"], source["namespace"]) == ("Source", "io.debezium.connector.mysql")
    assert {"name": "ts_ms", "type": "long"} in source["fields"]
    snapshot = next(field for field in source["fields"] if field["name"] == "snapshot")
    assert snapshot["type"][1] == "null" and snapshot["default"] == "false"


# Values

_NUMBERS = {"int16": st.integers(-(1 << 15), (1 << 15) - 1), "int32": st.integers(-(1 << 31), (1 << 31) - 1)}
_VALUES: dict[str, st.SearchStrategy[Any]] = {
    **_NUMBERS,
    "int64": st.integers(-(1 << 63), (1 << 63) - 1),
    "double": st.floats(allow_nan=False, allow_infinity=False),
    "float": st.floats(width=32, allow_nan=False, allow_infinity=False),
    "boolean": st.booleans(),
    "string": st.text(max_size=2000),
    "bytes": st.binary(max_size=2000),
}


@given(st.data())
def test_fastavro_writes_the_same(data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.tuples(st.sampled_from(sorted(_VALUES)), st.booleans()), min_size=1, max_size=6))
    fields = [{"type": kind, "optional": nullable, "field": f"f{at}"} for at, (kind, nullable) in enumerate(kinds)]
    row = {"type": "struct", "fields": fields, "name": "t.Value", "optional": True, "field": "row"}
    many = {"type": "array", "items": {"type": "float", "optional": False}, "optional": True, "field": "many"}
    schema = {"type": "struct", "fields": [row, many], "name": "t.Envelope", "optional": False}
    values = {
        field["field"]: data.draw(st.none() | _VALUES[kind] if nullable else _VALUES[kind])
        for field, (kind, nullable) in zip(fields, kinds, strict=True)
    }
    value = {"row": data.draw(st.none() | st.just(values)), "many": data.draw(st.none() | st.lists(_VALUES["float"]))}
    out = BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(avro(schema)), value)
    assert Writer(schema)(msgspec.json.encode(value)) == out.getvalue()


@pytest.mark.parametrize(
    ("kind", "text"), [("int32", "2147483648"), ("int64", "9223372036854775808"), ("string", "7"), ("bytes", '"_"')]
)
def test_what_is_not_of_the_type_is_refused(kind: str, text: str) -> None:
    field = {"type": kind, "optional": False, "field": "f"}
    writer = Writer({"type": "struct", "fields": [field], "name": "t.Value", "optional": False})
    with pytest.raises((msgspec.ValidationError, OverflowError)):
        writer(b'{"f":' + text.encode() + b"}")


# Records


def test_keys_values_and_tombstones(ids: dict[str, list[str]]) -> None:
    plan = made().plan(TABLE, "task.shop.orders")
    assert plan.encode is not None
    assert not ids, "nothing is registered before the first row"
    key, nothing = plan.encode(b'{"id":-1}', None)
    assert (key, nothing) == (b"\0\0\0\0\1\1", None)
    assert list(ids) == ["task.shop.orders-key"]
    assert plan.encode(b'{"id":64}', None)[0] == b"\0\0\0\0\1\x80\1"


def test_a_value_that_does_not_fit_is_an_error_for_people(ids: dict[str, list[str]]) -> None:
    encode = made().plan(TABLE, "task.shop.orders").encode
    assert encode is not None
    with pytest.raises(DecodeError, match=r"E2307 .*task\.shop\.orders-key.*\$\.id"):
        encode(b'{"id":"__debezium_unavailable_value"}', None)
    assert not ids


def test_the_placeholder_is_bytes_where_bytes_are() -> None:
    data = column(1, "data", types.BLOB, 2, collation=BINARY)
    text = column(2, "text", types.BLOB, 2, collation=LATIN1)
    table = Table("d", "t", (TABLE.columns[0], data, text), primary_key=(0,))
    value = made().plan(table, "topic").insert[0].value or ()
    absent = [step.absent for step in value if isinstance(step, Value)]
    assert absent[1:] == [f'"{b64encode(b"__debezium_unavailable_value").decode()}"', '"__debezium_unavailable_value"']


def test_names_are_made_fit_or_refused() -> None:
    table = Table("d", "t", (column(0, "a-b", types.LONG), column(1, "a b", types.LONG)))
    with pytest.raises(DecodeError, match=r"E2307 .*two columns get the name a_b.*Found: a-b, a b"):
        made().plan(table, "topic")
    with pytest.raises(DecodeError, match=r"E2307 .*does not allow the name"):
        made(field_name_adjustment_mode="none").plan(table, "topic")
    value = made(field_name_adjustment_mode="avro_unicode").plan(table, "topic").insert[0].value or ()
    first = value[0]
    assert isinstance(first, Text) and first.text.endswith('"a_u002db":')


def test_truncate_has_the_schema_of_the_rows(ids: dict[str, list[str]]) -> None:
    form = made(skipped_operations=[], include_schema_changes=False)
    change = TableChange("TRUNCATE", "shop", "orders", TABLE)
    statement = Statement("shop", "TRUNCATE orders", "TRUNCATE TABLE", (change,))
    (message,) = form.statement(statement, MOMENT)
    (schema,) = ids["task.shop.orders-value"]
    assert read(schema, (message.value or b"")[5:])["op"] == "t"
    encode = form.plan(TABLE, "task.shop.orders").encode
    assert encode is not None
    unknown = Statement("shop", "TRUNCATE x", "TRUNCATE TABLE", (TableChange("TRUNCATE", "shop", "x"),))
    with pytest.raises(DecodeError, match="E2307"):
        form.statement(unknown, MOMENT)


Narration = Callable[[Format], Sequence[Any]]


@pytest.mark.parametrize(
    ("options", "narrate", "topic", "names"),
    [
        (
            {},
            lambda form: form.statement(Statement("shop", "CREATE DATABASE shop", "CREATE DATABASE"), MOMENT),
            "task",
            ("connector.mysql.SchemaChangeKey", "connector.mysql.SchemaChangeValue"),
        ),
        (
            {"provide_transaction_metadata": True},
            lambda form: form.end(msgspec.structs.replace(MOMENT, gtid="u:1"), {("shop", "orders"): 2}),
            "task.transaction",
            ("connector.common.TransactionMetadataKey", "connector.common.TransactionMetadataValue"),
        ),
        (
            {"heartbeat_interval_ms": 1},
            lambda form: form.heartbeat(MOMENT),
            "__debezium-heartbeat.task",
            ("connector.common.ServerNameKey", "connector.common.Heartbeat"),
        ),
    ],
)
def test_records_that_are_not_of_rows(
    ids: dict[str, list[str]], options: dict[str, Any], narrate: Narration, topic: str, names: tuple[str, str]
) -> None:
    (message,) = narrate(made(**options))
    plain_options = DebeziumOptions(**options)
    plain = formats["debezium"]("task", StdoutSink(type="stdout", debezium=plain_options), "mysql")
    (same,) = narrate(plain)
    assert message.topic == same.topic == topic
    for part, wanted, data, text in zip(
        ("key", "value"), names, (message.key, message.value), (same.key, same.value), strict=True
    ):
        (schema,) = ids[f"{topic}-{part}"]
        assert json.loads(schema)["connect.name"] == f"io.debezium.{wanted}"
        assert read(schema, data[5:]) == json.loads(text)


# Options


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"converter": "avro"}, "registry"),
        ({"schema_registry": {"url": "http://r"}}, "registry"),
        ({"converter": "avro", "schema_registry": {"url": "http://r"}, "schemas_enable": True}, "schemas_enable"),
        ({"converter": "avro", "schema_registry": {"url": "http://r", "user": "u"}}, "user and password"),
        ({"converter": "avro", "schema_registry": {"url": "http://u:p@r"}}, "url"),
        ({"converter": "avro", "schema_registry": {"url": "http://r", "user": "u", "password": "p"}}, "password"),
    ],
)
def test_options_that_do_not_go_together(options: dict[str, Any], text: str) -> None:
    source = {"type": "mysql", "user": "u", "password": "env:P"}
    with pytest.raises(ConfigError) as refused:
        parse_task({"name": "t", "source": source, "sink": {"type": "stdout", "debezium": options}})
    errors: Sequence[ReplicatorError] = getattr(refused.value, "errors", ()) or (refused.value,)
    assert any(text in str(error) for error in errors), errors
