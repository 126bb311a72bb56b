"""Options of format debezium: notations, defaults, schemas, and the records that are not of rows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from replicator.config.debezium import DebeziumOptions
from replicator.config.load import load_task
from replicator.config.task import StdoutSink
from replicator.decode.renderers import FALLIBLE, RENDERERS
from replicator.encode.debezium import Debezium
from replicator.encode.debezium.columns import kind
from replicator.encode.debezium.rows import field
from replicator.errors import ConfigError
from replicator.model import types
from replicator.model.metadata_event import Message, Moment, Statement, TableChange
from replicator.model.plan import TablePlan, Text, Value
from replicator.model.table import Column, Declared, Table

MOMENT = Moment(
    event_s=1,
    ts_us=2_000_000,
    now_ns=3_000_000_000,
    gtid="u:7",
    executed="u:1-7",
    file="b.1",
    offset=4,
    end=5,
    server_id=6,
)
TABLE = Table("db", "t", (Column(0, "id", types.LONG, nullable=False), Column(1, "v", types.LONG)), (0,))


def form(name: str = "p", **options: Any) -> Debezium:
    return Debezium(name, StdoutSink(type="stdout", debezium=DebeziumOptions(**options)), "mysql")


def column(type_: int, text: str | None = None, **fields: Any) -> Column:
    """`text`: its DEFAULT."""
    declared = Declared("X", has_default=True, default=text) if text is not None else None
    return Column(0, "c", type_, declared=declared, **fields)


@pytest.mark.parametrize("mode", ["adaptive_time_microseconds", "connect", "isostring", "microseconds", "nanoseconds"])
@pytest.mark.parametrize("adjust", [True, False])
@pytest.mark.parametrize("binary", ["bytes", "base64", "base64-url-safe", "hex"])
def test_every_notation_of_every_mode_exists_and_takes_the_type(mode: str, adjust: bool, binary: str) -> None:
    options = DebeziumOptions(time_precision_mode=mode, enable_time_adjuster=adjust, binary_handling_mode=binary)
    for type_ in set(types.NAMES) - {types.DECIMAL, types.NULL}:
        for collation in (63, 255):
            chosen = kind(column(type_, collation=collation), options)
            assert type_ in RENDERERS[chosen.renderer][1], types.NAMES[type_]


@pytest.mark.parametrize(
    ("given", "options", "expected"),
    [
        (column(types.LONG, "7"), {}, "7"),
        (column(types.LONGLONG, "18446744073709551615", unsigned=True), {}, "-1"),
        (column(types.NEWDECIMAL, "1.5", meta=8 << 8 | 3), {}, '"Bdw="'),
        (column(types.NEWDECIMAL, "1.5", meta=8 << 8 | 3), {"decimal_handling_mode": "string"}, '"1.500"'),
        (column(types.NEWDECIMAL, "1.5", meta=8 << 8 | 3), {"decimal_handling_mode": "double"}, "1.5"),
        (column(types.DOUBLE, "12345678"), {}, "1.2345678E7"),
        (column(types.BIT, "b'101'", meta=3), {}, '"BQ=="'),
        (column(types.BIT, "b'1'", meta=1), {}, "true"),
        (column(types.STRING, "ab", meta=3, collation=63), {}, '"YWIA"'),
        (column(types.VARCHAR, "d'é", collation=255), {}, '"d\'é"'),
        (column(types.DATE, "2020-02-29"), {}, "18321"),
        (column(types.DATE, "2020-02-29"), {"time_precision_mode": "isostring"}, '"2020-02-29Z"'),
        (column(types.DATE, "0000-00-00"), {}, None),
        (column(types.DATETIME2, "2020-01-01 01:02:03.456", meta=3), {}, "1577840523456"),
        (column(types.DATETIME2, "CURRENT_TIMESTAMP(6)", meta=6), {}, "0"),
        (column(types.TIMESTAMP2, "CURRENT_TIMESTAMP", meta=0), {}, None),
        (column(types.TIMESTAMP2, "CURRENT_TIMESTAMP", meta=0, nullable=False), {}, '"1970-01-01T00:00:00Z"'),
        (column(types.TIME2, "-01:00:00", meta=0), {}, "-3600000000"),
        (column(types.TIME2, "-01:00:00", meta=0), {"time_precision_mode": "connect"}, None),
        (column(types.LONG, "not a number"), {}, None),
        (column(types.LONG), {}, None),
    ],
)
def test_defaults(given: Column, options: dict[str, Any], expected: str | None) -> None:
    made = field(given, DebeziumOptions(**options))
    assert made.default == expected
    if given.nullable:
        assert made.null == (expected or "null")
        assert field(given, DebeziumOptions(**options, replace_null_with_default=False)).null == "null"


def test_a_date_that_is_none_is_the_default_of_its_column() -> None:
    stamp = column(types.TIMESTAMP2, "2020-01-01 00:00:00", meta=0, nullable=False)
    name, _, instead = field(stamp, DebeziumOptions()).renderer.partition(":")
    assert (name, instead) == ("timestamp_iso", '"2020-01-01T00:00:00Z"')
    assert name in FALLIBLE


def literal(plan: TablePlan, operation: str) -> list[str | None]:
    """The texts of each record's value."""
    return [
        record.value and "".join(step.text for step in record.value if isinstance(step, Text))
        for record in getattr(plan, operation)
    ]


@pytest.mark.parametrize(
    ("options", "said", "tombstones"),
    [
        ({}, 1, 1),
        ({"tombstones_on_delete": False}, 1, 0),
        ({"unwrap": {}}, 0, 1),
        ({"unwrap": {"delete_tombstone_handling_mode": "rewrite"}}, 1, 0),
        ({"unwrap": {"delete_tombstone_handling_mode": "rewrite-with-tombstone"}}, 1, 1),
        ({"unwrap": {"delete_tombstone_handling_mode": "drop"}}, 0, 0),
    ],
)
def test_what_a_delete_becomes(options: dict[str, Any], said: int, tombstones: int) -> None:
    values = [record.value for record in form(**options).plan(TABLE, "x").delete]
    assert [value is None for value in values] == [False] * said + [True] * tombstones


def test_rows_alone() -> None:
    plan = form(unwrap={"delete_tombstone_handling_mode": "rewrite", "add_fields": ["op", "source.ts_ms"]}).plan(
        TABLE, "x"
    )
    assert literal(plan, "update") == ['{"id":,"v":,"__deleted":"false","__op":"u","__source_ts_ms":}']


def test_operations_left_out() -> None:
    plan = form(skipped_operations=["c", "d"]).plan(TABLE, "x")
    assert (plan.insert, plan.delete, len(plan.update)) == ((), (), 1)


def test_values_that_a_row_lacks() -> None:
    plan = form(unavailable_value_placeholder="gone").plan(TABLE, "x")
    values = [step for step in plan.insert[0].value or () if isinstance(step, Value)]
    assert {value.absent for value in values} == {'"gone"'}


def test_schemas_stand_in_front_and_name_the_topic() -> None:
    plan = form(schemas_enable=True).plan(TABLE, "x")
    (value,) = literal(plan, "insert")
    assert value is not None
    assert value.startswith('{"schema":{"type":"struct","fields":[{"type":"struct","fields":[{"type":"int32",')
    assert '"name":"x.Envelope","version":2},"payload":{"before":null,"after":{"id":' in value


def statements(*changes: TableChange, text: str, kind_: str, **options: Any) -> list[dict[str, Any]]:
    messages = form(**options).statement(Statement("db", text, kind_, changes), MOMENT)
    return [json.loads(message.value or b"") for message in messages]


def test_a_statement_about_several_tables_is_split() -> None:
    changes = (
        TableChange("RENAME", "db", "a", TABLE, ("db", "b c")),
        TableChange("RENAME", "other", "x", TABLE, ("db", "y")),
    )
    made = statements(*changes, text="RENAME TABLE a TO `b c`, other.x TO y", kind_="RENAME TABLE")
    assert [each["ddl"] for each in made] == ["RENAME TABLE a TO `b c`", "RENAME TABLE other.x TO y"]
    assert {each["source"]["table"] for each in made} == {"b c,y"}
    assert [each["tableChanges"][0]["id"] for each in made] == ['"db"."b c"', '"db"."y"']
    assert [each["tableChanges"][0]["type"] for each in made] == ["ALTER", "ALTER"]


def test_databases_and_what_is_left_out() -> None:
    (made,) = statements(text="CREATE DATABASE IF NOT EXISTS `x``y` CHARACTER SET latin1", kind_="CREATE DATABASE")
    assert (made["databaseName"], made["source"]["table"], made["tableChanges"]) == ("x`y", None, [])
    for kind_ in ("CREATE VIEW", "CREATE TRIGGER", "GRANT", "TRUNCATE TABLE"):
        assert statements(text=kind_, kind_=kind_) == []


def test_truncate() -> None:
    assert statements(text="TRUNCATE db.t", kind_="TRUNCATE TABLE", skipped_operations=[])[0]["op"] == "t"
    change = TableChange("TRUNCATE", "db", "t")
    (message,) = form(skipped_operations=[]).statement(Statement("", "TRUNCATE t", "TRUNCATE TABLE", (change,)), MOMENT)
    assert (message.topic, message.key) == ("p.db.t", None)


def test_borders_of_transactions() -> None:
    made = form(provide_transaction_metadata=True)
    assert made.interests == {"statement", "transaction"}
    (begin,), (end,) = made.begin(MOMENT), made.end(MOMENT, {("db", "t"): 2, ("db", "u"): 1})
    assert (begin.topic, begin.key, begin.headers) == ("p.transaction", b'{"id":"u:7"}', ())
    assert json.loads(end.value or b"")["event_count"] == 3
    assert json.loads(end.value or b"")["data_collections"][0] == {"data_collection": "db.t", "event_count": 2}


def test_heartbeats_keep_their_distance() -> None:
    made = form(heartbeat_interval_ms=1000, topic_prefix="x.y")

    def beat(now_ns: int) -> list[Message]:
        return list(made.heartbeat(Moment(1, 2, now_ns, "", "", "b.1", 4, 5, 6)))

    beats = [len(beat(second * 500_000_000)) for second in range(2, 8)]
    assert beats == [1, 0, 1, 0, 1, 0]
    (message,) = beat(10**12)
    assert (message.topic, message.key) == ("__debezium-heartbeat.x.y", b'{"serverName":"x.y"}')


@pytest.mark.parametrize(
    "options",
    [
        "{unwrap: {}, schemas_enable: true}",
        "{unwrap: {}, provide_transaction_metadata: true}",
        "{skipped_operations: [c, u, d]}",
        "{unwrap: {add_fields: [source.nothing]}}",
        "{topic_prefix: 'a b'}",
        "{decimal_handling_mode: exact}",
    ],
)
def test_options_that_make_no_sense_are_refused(options: str) -> None:
    text = (
        f"name: a\nsource: {{type: mysql, user: u, password: 'env:P'}}\nsink: {{type: stdout, debezium: {options}}}\n"
    )
    with pytest.raises(ConfigError, match="E1003"):
        load_task(text)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("X'00FF'", "00FF"),
        ("x'4142'", "4142"),
        ("0x4142", "0x4142"),  # Debezium: 414
        ("b'101'", "101"),
        ("0b101", "101"),
        ("x'y", "x''y"),
        ("18446744073709551615", "18446744073709551615"),
    ],
)
def test_literals_in_table_changes(written: str, shown: str) -> None:
    """As Debezium 3.6.1 has them, but where the table says so."""
    declared = Declared("VARBINARY", has_default=True, default=written)
    table = Table("db", "t", (Column(0, "c", types.VARCHAR, declared=declared),))
    (made,) = statements(TableChange("CREATE", "db", "t", table), text="CREATE TABLE t (c ...)", kind_="CREATE TABLE")
    ((column,),) = [change["table"]["columns"] for change in made["tableChanges"]]
    assert column["defaultValueExpression"] == shown
