"""Plans filled in by hand, against records that Maxwell 1.44.1 wrote (`xid`, `position`, `gtid` included)."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from replicator.config.maxwell import MaxwellOptions
from replicator.config.task import StdoutSink
from replicator.encode import formats
from replicator.encode.maxwell import Maxwell
from replicator.encode.maxwell_ddl import schema_id, type_name
from replicator.model import types
from replicator.model.metadata_event import Moment, Statement, TableChange, Verb
from replicator.model.plan import Deferred, Members, RecordPlan, Template, Text, Value, Var
from replicator.model.table import Column, Declared, Table
from replicator.model.uuids import row_uuid

VARIABLES = {
    "event_s": "1700000020",
    "xid": "45656",
    "offset": "3",
    "position": '"binlog.000001:12784598"',
    "gtid": '"ad18f0a3-e581-11f1-af5b-02fc00000001:11249"',
    "server_id": "1",
    "thread": "452",
    "query": "null",
    "uuid": '"a42eb770-497c-49d3-8836-d91966798487"',
}
ABSENT: Any = object()


def maxwell(**options: Any) -> Maxwell:
    sink = StdoutSink(type="stdout", format="maxwell", maxwell=MaxwellOptions(**options))
    made = formats["maxwell"]("task", sink, "mysql")
    assert isinstance(made, Maxwell)
    return made


class Filler:
    """`last`: the row is the last one of its transaction."""

    def __init__(self, before: list[Any] | None, after: list[Any] | None, *, last: bool = True, **known: str) -> None:
        self._images = {"before": before, "after": after}
        self._last = last
        self._known = {**VARIABLES, **known}

    def fill(self, template: Template) -> str:
        return "".join(map(self._step, template))

    def _step(self, step: Any) -> str:
        match step:
            case Text(text):
                return text
            case Var(name, before):
                value = self._known[name]
                if before is None:
                    return value
                return "" if value == "null" else before + value
            case Value():
                return self._value(step)
            case Deferred(row, last):
                return self.fill(last if self._last else row)
            case Members():
                return self._members(step)
        raise AssertionError(step)

    def _found(self, step: Value) -> Any:
        image = self._images[step.image]
        assert image is not None, f"a value of a row image that is not there: {step}"
        other = self._images["before"]
        return other[step.column] if image[step.column] is ABSENT and other else image[step.column]

    def _value(self, step: Value) -> str:
        value = self._found(step)
        return step.null if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    def _members(self, step: Members) -> str:
        found = []
        for member in step.members:
            value = self._found(member.value)
            after = (self._images["after"] or [])[member.value.column] if step.changed else None
            missing = step.changed and (value is ABSENT or after in (value, ABSENT))
            if missing or (value is None and not step.nulls):
                continue
            found.append(f"{json.dumps(member.name, ensure_ascii=False)}:{self._value(member.value)}")
        return step.before + "{" + ",".join(found) + "}" if found else step.empty


def record(plans: tuple[RecordPlan, ...], before: Any, after: Any, **options: Any) -> tuple[str, str]:
    (plan,) = plans
    filler = Filler(before, after, **options)
    assert plan.key is not None
    assert plan.value is not None
    assert not plan.headers
    return filler.fill(plan.key), filler.fill(plan.value)


def column(index: int, name: str, type_: int, **attributes: Any) -> Column:
    return Column(index, name, type_, **{"collation": 45, **attributes})


DML = Table(
    "zoo", "dml", (column(0, "id", types.LONG), column(1, "a", types.LONG), column(2, "b", types.VARCHAR)), (0,)
)
NO_KEY = Table("zoo", "k_none", (column(0, "a", types.LONG), column(1, "b", types.VARCHAR)))
COMPOSITE = Table(
    "zoo", "k", (column(0, "A", types.LONG), column(1, "b", types.LONG), column(2, "v", types.LONG)), (1, 0)
)


def test_insert_update_delete() -> None:
    plan = maxwell().plan(DML, "topic")
    head = '{"database":"zoo","table":"dml","type":'
    key = '{"database":"zoo","table":"dml","pk.id":4}'
    assert record(plan.insert, None, [4, 4, None], last=False) == (
        key,
        f'{head}"insert","ts":1700000020,"xid":45656,"xoffset":3,"data":{{"id":4,"a":4,"b":null}}}}',
    )
    assert record(plan.update, [4, 4, "four"], [4, 14, "four"]) == (
        key,
        f'{head}"update","ts":1700000020,"xid":45656,"commit":true,'
        '"data":{"id":4,"a":14,"b":"four"},"old":{"a":4}}',
    )
    assert record(plan.delete, [4, 14, "four"], None) == (
        key,
        f'{head}"delete","ts":1700000020,"xid":45656,"commit":true,"data":{{"id":4,"a":14,"b":"four"}}}}',
    )
    assert plan.rekey is None


def test_a_changed_key_is_an_update_of_the_new_one() -> None:
    key, value = record(maxwell().plan(DML, "t").update, [4, 1, "x"], [5, 1, "x"])
    assert json.loads(key)["pk.id"] == 5
    assert json.loads(value)["old"] == {"id": 4}


def test_without_transactional_engine() -> None:
    """No XID: neither is it written."""
    plan = maxwell().plan(DML, "t")
    _, value = record(plan.insert, None, [1, 1, "x"], last=False, xid="null")
    assert '"ts":1700000020,"xoffset":3,"data"' in value
    _, value = record(plan.insert, None, [1, 1, "x"], xid="null")
    assert '"ts":1700000020,"commit":true,"data"' in value


def test_keys() -> None:
    row = [1, 2, 3]
    assert record(maxwell().plan(COMPOSITE, "t").insert, None, row)[0] == (
        '{"database":"zoo","table":"k","pk.b":2,"pk.a":1}'
    )
    array = maxwell(kafka_key_format="array")
    assert record(array.plan(COMPOSITE, "t").delete, row, None)[0] == '["zoo","k",[{"b":2},{"a":1}]]'
    assert record(array.plan(NO_KEY, "t").insert, None, [1, "x"])[0] == '["zoo","k_none",[]]'
    assert record(maxwell().plan(NO_KEY, "t").insert, None, [1, "x"])[0] == (
        '{"database":"zoo","table":"k_none","_uuid":"a42eb770-497c-49d3-8836-d91966798487"}'
    )


@pytest.mark.parametrize(
    ("by", "keyed", "keyless"),
    [
        ("database", (Text("zoo"),), (Text("zoo"),)),
        ("table", (Text("dml"),), (Text("k_none"),)),
        ("transaction_id", (Var("gtid"),), (Var("gtid"),)),
        ("primary_key", None, (Text("zook_none"),)),
    ],
)
def test_partitions(by: str, keyed: Template | None, keyless: Template) -> None:
    made = maxwell(producer_partition_by=by, output_ddl=True)
    assert made.plan(DML, "t").route == keyed
    assert made.plan(NO_KEY, "t").route == keyless
    (message,) = made.statement(Statement("zoo", "…", "DROP TABLE", (TableChange("DROP", "zoo", "d"),)), MOMENT)
    assert message.route == (b"d" if by == "table" else b"zoo")


def test_by_database_unless_told_otherwise() -> None:
    assert maxwell().plan(DML, "t").route == (Text("zoo"),)


def test_everything_else_in_order() -> None:
    options = ["binlog_position", "gtid_position", "server_id", "thread_id", "schema_id"]
    options += ["primary_keys", "primary_key_columns", "row_query"]
    made = maxwell(**{f"output_{name}": True for name in options})
    plan = made.plan(COMPOSITE, "t")
    _, value = record(plan.insert, None, [1, 2, 3], query='"INSERT"')
    assert value == (
        '{"database":"zoo","table":"k","query":"INSERT","type":"insert","ts":1700000020,"xid":45656,"commit":true,'
        '"position":"binlog.000001:12784598","gtid":"ad18f0a3-e581-11f1-af5b-02fc00000001:11249","server_id":1,'
        f'"thread_id":452,"schema_id":{schema_id(COMPOSITE)},"primary_key":[2,1],"primary_key_columns":["b","A"],'
        '"data":{"A":1,"b":2,"v":3}}'
    )
    _, value = record(plan.insert, None, [1, 2, 3], thread="null", query="null")
    assert "thread_id" not in value
    assert "query" not in value
    _, value = record(made.plan(NO_KEY, "t").insert, None, [1, "x"])
    assert '"primary_key":[],"primary_key_columns":[],"data"' in value


def test_without_commit_info_nothing_waits() -> None:
    plan = maxwell(output_commit_info=False).plan(DML, "t")
    assert not any(isinstance(step, Deferred) for step in plan.insert[0].value or ())
    assert record(plan.insert, None, [1, 1, "x"])[1] == (
        '{"database":"zoo","table":"dml","type":"insert","ts":1700000020,"data":{"id":1,"a":1,"b":"x"}}'
    )
    plan = maxwell(output_xoffset=False).plan(DML, "t")
    assert '"xid":45656,"data"' in record(plan.insert, None, [1, 1, "x"], last=False)[1]


def test_without_nulls() -> None:
    plan = maxwell(output_nulls=False).plan(DML, "t")
    assert record(plan.update, [80, 8, None], [80, 8, "joined q"])[1].endswith(
        '"data":{"id":80,"a":8,"b":"joined q"},"old":{}}'
    )
    assert record(plan.update, [80, 8, "q"], [80, 8, None])[1].endswith('"data":{"id":80,"a":8},"old":{"b":"q"}}')


def test_columns_that_are_missing_after_come_from_before() -> None:
    key, value = record(maxwell().plan(DML, "t").update, [1, ABSENT, ABSENT], [ABSENT, 2, "x"])
    assert json.loads(key)["pk.id"] == 1
    assert json.loads(value)["data"] == {"id": 1, "a": 2, "b": "x"}


@pytest.mark.parametrize(
    ("type_", "attributes", "renderer"),
    [
        (types.LONGLONG, {"unsigned": True}, "int"),
        (types.BIT, {"meta": 8}, "bit_int"),
        (types.NEWDECIMAL, {"meta": 10 << 8 | 2}, "decimal_java"),
        (types.TIME2, {}, "temporal"),
        (types.VARCHAR, {}, "text"),
        (types.VARCHAR, {"collation": 63}, "base64"),
        (types.BLOB, {"collation": 63}, "base64"),
        (types.JSON, {}, "json"),
        (types.GEOMETRY, {}, "wkt"),
        (types.SET, {"meta": 1}, "set_array"),
        (types.NULL, {}, "text"),
    ],
)
def test_renderers(type_: int, attributes: dict[str, Any], renderer: str) -> None:
    table = Table("d", "t", (column(0, "c", type_, **attributes),))
    (members,) = [step for step in maxwell().plan(table, "t").insert[0].value or () if isinstance(step, Members)]
    assert members.members[0].value.renderer == renderer


def test_zero_dates_as_null() -> None:
    table = Table("d", "t", (column(0, "c", types.DATE),))
    plan = maxwell(output_null_zerodates=True).plan(table, "t")
    (members,) = [step for step in plan.insert[0].value or () if isinstance(step, Members)]
    assert members.members[0].value.renderer == "temporal_or_null"


MOMENT = Moment(1700000027, 0, 0, "u:9", "u:1-9", "binlog.000001", 11, 99, 1, 7)


def declared(name: str, type_: str, *arguments: str, **attributes: Any) -> Column:
    return Column(0, name, types.LONG, declared=Declared(type_, arguments, **attributes))


D = Table("zoo", "d", (declared("id", "INT"), declared("v", "VARCHAR", "5", charset="latin1")), (0,), charset="utf8mb4")
DEFINITION = (
    '{"database":"zoo","charset":"utf8mb4","table":"d","columns":[{"type":"int","name":"id","signed":true},'
    '{"type":"varchar","name":"v","charset":"latin1"}],"primary-key":["id"]}'
)


def told(statement: Statement, **options: Any) -> list[tuple[str, str]]:
    made = maxwell(output_ddl=True, **options)
    assert made.interests == {"statement"}
    messages = list(made.statement(statement, MOMENT))
    assert messages == list(made.statement(statement, MOMENT))
    assert len({message.key for message in messages}) == len(messages)
    assert all(uuid.UUID((message.key or b"").decode()).version == 8 for message in messages)
    return [(message.topic, (message.value or b"").decode()) for message in messages]


def test_ddl_of_tables() -> None:
    tail = '"ts":1700000027000,"sql":"…"}'
    changes = (TableChange("CREATE", "zoo", "d", D), TableChange("CREATE", "zoo", "unknown"))
    assert told(Statement("zoo", "…", "CREATE TABLE", changes)) == [
        ("task", f'{{"type":"table-create","database":"zoo","table":"d","def":{DEFINITION},{tail}'),
        ("task", f'{{"type":"table-create","database":"zoo","table":"unknown","def":null,{tail}'),
    ]
    moved = Table("two", "e", D.columns, charset="utf8mb4")
    ((_, value),) = told(
        Statement("zoo", "…", "RENAME TABLE", (TableChange("RENAME", "zoo", "d", moved, ("two", "e"), D),))
    )
    message = json.loads(value)
    assert list(message) == ["type", "database", "table", "old", "def", "ts", "sql"]
    assert [message["type"], message["database"], message["table"]] == ["table-alter", "zoo", "d"]
    assert message["old"] == json.loads(DEFINITION)
    assert [message["def"]["database"], message["def"]["table"], message["def"]["primary-key"]] == ["two", "e", []]
    ((_, value),) = told(Statement("zoo", "…", "DROP TABLE", (TableChange("DROP", "zoo", "d"),)))
    assert value == f'{{"type":"table-drop","database":"zoo","table":"d",{tail}'


def test_ddl_of_databases() -> None:
    create = Statement("", "CREATE DATABASE IF NOT EXISTS `z``o` CHARACTER SET latin1", "CREATE DATABASE", (), "latin1")
    ((topic, value),) = told(create, ddl_kafka_topic="ddl", output_binlog_position=True, output_gtid_position=True)
    assert topic == "ddl"
    assert value == (
        '{"type":"database-create","database":"z`o","charset":"latin1","ts":1700000027000,'
        '"sql":"CREATE DATABASE IF NOT EXISTS `z``o` CHARACTER SET latin1","position":"binlog.000001:11","gtid":"u:9"}'
    )
    drop = Statement("", "DROP DATABASE zoo", "DROP DATABASE", (TableChange("DROP", "zoo", "d"),))
    ((topic, value),) = told(drop, ddl_kafka_topic="{task}.{table}")
    assert topic == "task"
    assert value == '{"type":"database-drop","database":"zoo","ts":1700000027000,"sql":"DROP DATABASE zoo"}'
    alter = Statement("zoo_two", "ALTER DATABASE CHARACTER SET latin1", "ALTER DATABASE", (), "latin1")
    assert json.loads(told(alter)[0][1])["database"] == "zoo_two"


@pytest.mark.parametrize("filler", ["/**/", "/* * */", "/*!", "-- a\n", "# \n", " ", "*/"])
def test_no_text_is_slow(filler: str) -> None:
    text = "CREATE DATABASE " + filler * 20_000
    assert json.loads(told(Statement("current", text, "CREATE DATABASE"))[0][1])["database"] == "current"


@pytest.mark.parametrize(
    "kind", ["TRUNCATE TABLE", "CREATE INDEX", "DROP INDEX", "CREATE VIEW", "CREATE USER", "GRANT"]
)
def test_of_other_statements_nothing_is_told(kind: str) -> None:
    verb: Verb = "TRUNCATE" if kind.startswith("TRUNCATE") else "ALTER"
    assert told(Statement("zoo", "…", kind, (TableChange(verb, "zoo", "d", D),))) == []


def test_ddl_only_when_asked_for() -> None:
    assert not maxwell().interests


@pytest.mark.parametrize(
    ("spelled", "arguments", "name"),
    [
        ("INT8", (), "bigint"),
        ("BOOLEAN", (), "tinyint"),
        ("DOUBLE PRECISION", (), "double"),
        ("DEC", ("8", "3"), "decimal"),
        ("NATIONAL VARCHAR", ("5",), "varchar"),
        ("NCHAR", ("5",), "char"),
        ("CHARACTER VARYING", ("5",), "varchar"),
        ("CHAR BYTE", ("5",), "binary"),
        ("TEXT", ("255",), "tinytext"),
        ("TEXT", ("256",), "text"),
        ("BLOB", ("70000",), "mediumblob"),
        ("BLOB", (str(1 << 24),), "longblob"),
        ("LONG VARBINARY", (), "mediumblob"),
        ("GEOMCOLLECTION", (), "geometrycollection"),
        ("DATETIME", ("3",), "datetime"),
    ],
)
def test_one_name_a_type(spelled: str, arguments: tuple[str, ...], name: str) -> None:
    assert type_name(Declared(spelled, arguments)) == name


@pytest.mark.parametrize(
    ("column_", "text"),
    [
        (declared("c", "INT", zerofill=True), '{"type":"int","name":"c","signed":false}'),
        (declared("c", "SERIAL"), '{"type":"bigint","name":"c","signed":false}'),
        (declared("c", "ENUM", "a", "quo'te"), '{"type":"enum","name":"c","enum-values":["a","quo\'te"]}'),
        (declared("c", "TIMESTAMP"), '{"type":"timestamp","name":"c","column-length":0}'),
        (declared("c", "TIME", "6"), '{"type":"time","name":"c","column-length":6}'),
        (declared("c", "NCHAR", "5", charset="utf8mb3"), '{"type":"char","name":"c","charset":"utf8"}'),
        (declared("c", "VARBINARY", "5"), '{"type":"varbinary","name":"c","charset":"binary"}'),
        (declared("c", "JSON"), '{"type":"json","name":"c"}'),
    ],
)
def test_columns_of_definitions(column_: Column, text: str) -> None:
    table = Table("zoo", "t", (column_,), charset="utf8mb4")
    ((_, value),) = told(Statement("zoo", "…", "CREATE TABLE", (TableChange("CREATE", "zoo", "t", table),)))
    assert f'"columns":[{text}]' in value


def test_schema_ids_tell_definitions_apart() -> None:
    assert schema_id(DML) == schema_id(Table("zoo", "dml", DML.columns, (0,)))
    assert schema_id(DML) != schema_id(COMPOSITE)
    assert schema_id(DML) < 2**32


def test_uuids_are_the_same_each_time_and_different_by_row() -> None:
    made = [row_uuid(position, row) for position in (b"u:1", b"u:2", b"binlog.000001:4") for row in range(100)]
    assert made == [row_uuid(p, row) for p in (b"u:1", b"u:2", b"binlog.000001:4") for row in range(100)]
    assert len(set(made)) == 300
    for text in made:
        parsed = uuid.UUID(text)
        assert (str(parsed), parsed.version, parsed.variant) == (text, 8, uuid.RFC_4122)
