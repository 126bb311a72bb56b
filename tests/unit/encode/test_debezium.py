"""Plans filled in by hand, against records that Debezium 3.6.1 wrote (`ts_*`, `gtid`, `pos`, `thread` included)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from replicator.config.debezium import DebeziumOptions
from replicator.config.task import StdoutSink
from replicator.encode import formats
from replicator.model import types
from replicator.model.plan import RecordPlan, TablePlan, Template, Text, Value, Var
from replicator.model.table import Column, Table

SINK = StdoutSink(type="stdout", debezium=DebeziumOptions(extended_headers_enabled=False))
VARIABLES = {
    "ts_ms": "1795250199448",
    "ts_us": "1795250199448723",
    "ts_ns": "1795250199448723000",
    "now_ms": "1795250201005",
    "now_us": "1795250201005360",
    "now_ns": "1795250201005360651",
    "gtid": '"ad18f0a3-e581-11f1-af5b-02fc00000001:6465"',
    "file": '"binlog.000001"',
    "pos": "6894083",
    "row": "0",
    "server_id": "1",
    "thread": "335",
}


def fill(template: Template | None, before: list[Any] | None, after: list[Any] | None) -> str | None:
    if template is None:
        return None
    out = ""
    for step in template:
        if isinstance(step, Text):
            out += step.text
        elif isinstance(step, Value):
            image = before if step.image == "before" else after
            assert image is not None, f"a value of a row image that is not there: {step}"
            out += step.null if image[step.column] is None else json.dumps(image[step.column])
        else:
            assert isinstance(step, Var)
            out += VARIABLES[step.name]
    return out


def records(plans: tuple[RecordPlan, ...], before: list[Any] | None, after: list[Any] | None) -> list[Any]:
    return [
        (
            fill(plan.key, before, after),
            fill(plan.value, before, after),
            [(name, fill(template, before, after)) for name, template in plan.headers],
        )
        for plan in plans
    ]


def plan_of(*columns: tuple[str, int], key: tuple[int, ...] = (), mariadb: bool = False) -> TablePlan:
    made = tuple(Column(index=i, name=name, type=type_, collation=45) for i, (name, type_) in enumerate(columns))
    table = Table(database="zoo", name="dml", columns=made, primary_key=key, mariadb=mariadb)
    return formats["debezium"]("golden_dbz_z_default", SINK, "mysql").plan(table, "topic")


DML = plan_of(("id", types.LONG), ("a", types.LONG), ("b", types.VARCHAR), ("txt", types.BLOB), key=(0,))

SOURCE = (
    '"source":{"version":"3.6.1.Final","connector":"mysql","name":"golden_dbz_z_default","ts_ms":1795250199448,'
    '"snapshot":"false","db":"zoo","sequence":null,"ts_us":1795250199448723,"ts_ns":1795250199448723000,"table":"dml",'
    '"server_id":1,"gtid":"ad18f0a3-e581-11f1-af5b-02fc00000001:6465","file":"binlog.000001","pos":6894083,"row":0,'
    '"thread":335,"query":null}'
)


def tail(op: str) -> str:
    now = '"ts_ms":1795250201005,"ts_us":1795250201005360,"ts_ns":1795250201005360651}'
    return f',{SOURCE},"transaction":null,"op":"{op}",{now}'


OLD, NEW = [3, 13, "three", None], [50, 13, "three", None]
OLD_TEXT, NEW_TEXT = '{"id":3,"a":13,"b":"three","txt":null}', '{"id":50,"a":13,"b":"three","txt":null}'


def test_insert() -> None:
    value = '{"before":null,"after":' + NEW_TEXT + tail("c")
    assert records(DML.insert, None, NEW) == [('{"id":50}', value, [])]


def test_update() -> None:
    changed = [3, 99, "three", None]
    value = '{"before":' + OLD_TEXT + ',"after":{"id":3,"a":99,"b":"three","txt":null}' + tail("u")
    assert records(DML.update, OLD, changed) == [('{"id":3}', value, [])]


def test_delete_and_its_tombstone() -> None:
    value = '{"before":' + OLD_TEXT + ',"after":null' + tail("d")
    assert records(DML.delete, OLD, None) == [('{"id":3}', value, []), ('{"id":3}', None, [])]


def test_an_update_of_the_key_becomes_three_records() -> None:
    assert DML.keys == (0,)
    assert DML.rekey is not None
    to_new, from_old = [("__debezium.newkey", '{"id":50}')], [("__debezium.oldkey", '{"id":3}')]
    assert records(DML.rekey, OLD, NEW) == [
        ('{"id":3}', '{"before":' + OLD_TEXT + ',"after":null' + tail("d"), to_new),
        ('{"id":3}', None, to_new),
        ('{"id":50}', '{"before":null,"after":' + NEW_TEXT + tail("c"), from_old),
    ]


@pytest.mark.parametrize(
    ("type_", "attributes", "in_key", "in_header"),
    [
        (types.LONGLONG, {"unsigned": True}, "unsigned_base64", "int"),
        (types.NEWDECIMAL, {"meta": 20 << 8 | 10}, "decimal_base64", "decimal_java"),
        (types.VARCHAR, {"collation": 63}, "base64", "base64"),
        (types.LONG, {}, "int_java", "int_java"),
    ],
)
def test_numbers_in_headers_are_numbers(type_: int, attributes: dict[str, Any], in_key: str, in_header: str) -> None:
    """Debezium 3.6.1 with `bigint.unsigned.handling.mode=precise`: key `{"k":"AP//////////"}`, header
    `{"k":18446744073709551614}`; of a DECIMAL(20,10) `{"k":"AA=="}` and `{"k":0E-10}`."""
    sink = StdoutSink.model_validate({"type": "stdout", "debezium": {"bigint_unsigned_handling_mode": "precise"}})
    column = Column(index=0, name="k", type=type_, **attributes)
    table = Table(database="d", name="t", columns=(column,), primary_key=(0,))
    deleted, *_, created = formats["debezium"]("x", sink, "mysql").plan(table, "t").rekey or ()

    def renderers(template: Template | None) -> list[str]:
        return [step.renderer for step in template or () if isinstance(step, Value)]

    for record in (deleted, created):
        assert renderers(record.key) == [in_key]
        ((_, header), *_) = record.headers
        assert renderers(header) == [in_header]


def test_the_key_has_key_order_and_the_row_has_column_order() -> None:
    plan = plan_of(("a", types.LONG), ("b", types.VARCHAR), ("c", types.LONG), key=(2, 0, 1))
    ((key, value, _),) = records(plan.insert, None, [1, "x", 19723])
    assert key == '{"c":19723,"a":1,"b":"x"}'
    assert value is not None
    assert '"after":{"a":1,"b":"x","c":19723},' in value


def test_without_a_key_the_tombstone_is_null_twice() -> None:
    plan = plan_of(("a", types.LONG))
    assert plan.rekey is None
    assert [(key, value is None) for key, value, _ in records(plan.delete, [1], None)] == [(None, False), (None, True)]


def test_mariadb_names_its_own_connector() -> None:
    ((_, value, _),) = records(plan_of(("a", types.LONG), mariadb=True).insert, None, [1])
    assert json.loads(value)["source"]["connector"] == "mariadb"


def test_names_are_quoted() -> None:
    ((key, value, _),) = records(plan_of(('co"l\x01', types.LONG), ("键", types.LONG), key=(0,)).insert, None, [1, 2])
    assert key == '{"co\\"l\\u0001":1}'
    assert json.loads(value)["after"] == {'co"l\x01': 1, "键": 2}


def renderer(type_: int, **attributes: Any) -> str:
    table = Table(database="d", name="t", columns=(Column(index=0, name="c", type=type_, **attributes),))
    value = formats["debezium"]("x", SINK, "mysql").plan(table, "t").insert[0].value
    assert value is not None
    return next(step.renderer for step in value if isinstance(step, Value))


def test_notations() -> None:
    assert renderer(types.LONGLONG, unsigned=True) == "int_java"
    units = [renderer(types.DATETIME2, meta=fsp) for fsp in (0, 3, 4, 6)]
    assert units == ["datetime_ms_windowed"] * 2 + ["datetime_us_windowed"] * 2
    assert renderer(types.DATETIME) == "datetime_ms_windowed"
    assert renderer(types.VARCHAR, collation=63) == "base64"
    assert renderer(types.VARCHAR, collation=255) == "text"
    assert renderer(types.BLOB, collation=63) == "base64"
    assert renderer(types.BLOB, collation=45) == "text"
    assert renderer(types.MARIADB_BLOB_COMPRESSED, collation=63) == "base64"
    assert renderer(types.MARIADB_VARCHAR_COMPRESSED, collation=45) == "text"


def test_every_notation_exists_and_takes_the_type() -> None:
    from replicator.decode.renderers import RENDERERS

    readable = set(types.NAMES) - {types.DECIMAL, types.NULL}
    for type_ in readable:
        _, accepted = RENDERERS[renderer(type_, collation=255)]
        assert type_ in accepted, types.NAMES[type_]
