"""Plans filled in by hand, against messages that Canal 1.1.8 wrote (`es`, `id` and `ts` included)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from replicator.config.canal import CanalOptions
from replicator.config.task import StdoutSink
from replicator.encode import formats
from replicator.encode.canal import Canal
from replicator.encode.canal_types import jdbc_of, mysql_type, sql_type
from replicator.model import types
from replicator.model.metadata_event import Moment, Statement, TableChange
from replicator.model.plan import Each, Members, Template, Text, Value, Var
from replicator.model.table import Column, Declared, Table

VARIABLES = {"event_ms": "1700000020000", "now_ms": "1795250587796", "pos": "11", "executed": '"u:1-5"'}
MOMENT = Moment(1700000020, 0, 1795250587796123456, "u:5", "u:1-5", "binlog.000001", 11, 99, 1, 7)
Row = dict[str, list[Any]]
ABSENT: Any = object()


def canal(**options: bool) -> Canal:
    made = formats["canal"]("task", StdoutSink(type="stdout", format="canal", canal=CanalOptions(**options)), "mysql")
    assert isinstance(made, Canal)
    return made


def printed(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def fill(template: Template, rows: list[Row]) -> str:
    return "".join(_step(step, rows) for step in template)


def deleted(table: Table, row: list[Any]) -> Any:
    return json.loads(fill(canal().plan(table, "t").delete[0].value or (), [{"before": row}]))


def _step(step: Any, rows: list[Row]) -> str:
    match step:
        case Text(text):
            return text
        case Var(name):
            return VARIABLES[name]
        case Each(template, separator):
            return separator.join("".join(_step(inner, [row]) for inner in template) for row in rows)
        case Members():
            return _members(step, rows[-1])
        case Value(column, image, renderer, null):
            assert renderer == "canal_sql_type"
            value = rows[-1][image][column]
            return null if value is None else "7777"
    raise AssertionError(step)


def _members(step: Members, row: Row) -> str:
    found = []
    for member in step.members:
        value = row[member.value.image][member.value.column]
        if value is ABSENT and step.kept:
            value = row["before"][member.value.column]
        other = row["after" if member.value.image == "before" else "before"][member.value.column] if step.changed else 0
        if value is not ABSENT and not (step.changed and (value == other or other is ABSENT)):
            found.append(f"{printed(member.name)}:{printed(value)}")
    return "{" + ",".join(found) + "}"


def column(index: int, name: str, type_: int, spelled: str, *arguments: str, **attributes: Any) -> Column:
    declared = Declared(spelled, arguments)
    return Column(index, name, type_, collation=45, declared=declared, **attributes)


DML = Table(
    "zoo",
    "dml",
    (
        column(0, "id", types.LONG, "INT"),
        column(1, "a", types.LONG, "INT"),
        column(2, "b", types.VARCHAR, "VARCHAR", "50"),
        column(3, "c", types.NEWDECIMAL, "DECIMAL", "10", "2"),
        column(4, "u", types.LONG, "INT"),
        column(5, "txt", types.BLOB, "TEXT", meta=2),
    ),
    primary_key=(0,),
)
TYPES = (
    '"mysqlType":{"id":"INT","a":"INT","b":"VARCHAR(50)","c":"DECIMAL(10,2)","u":"INT","txt":"TEXT"}',
    '"sqlType":{"id":4,"a":4,"b":12,"c":3,"u":4,"txt":2005}',
)


def test_an_insert_of_two_rows_is_one_message() -> None:
    plan = canal().plan(DML, "t")
    assert (plan.topic, plan.grouped, plan.rekey, plan.insert[0].key) == ("t", True, None, None)
    rows: list[Row] = [
        {"after": ["1", "1", "one", "1.00", "101", "t1"]},
        {"after": ["3", "3", "three", "3.00", "103", None]},
    ]
    assert fill(plan.insert[0].value or (), rows) == (
        '{"data":[{"id": "1","a": "1"'.replace(": ", ":")
        + ',"b":"one","c":"1.00","u":"101","txt":"t1"},{"id":"3","a":"3","b":"three","c":"3.00","u":"103","txt":null}],'
        f'"database":"zoo","es":1700000020000,"gtid":"","id":11,"isDdl":false,{TYPES[0]},"old":null,"pkNames":["id"],'
        f'"sql":"",{TYPES[1]},"table":"dml","ts":1795250587796,"type":"INSERT"}}'
    )


def test_old_has_what_changed() -> None:
    rows: list[Row] = [
        {"before": ["2", "12", "two", "2.00", "102", "t2"], "after": ["2", "12", None, "2.00", "102", ""]},
        {"before": ["3", "1", "x", "2.00", "1", None], "after": ["50", "1", "x", "2.00", "1", None]},
    ]
    made = json.loads(fill(canal().plan(DML, "t").update[0].value or (), rows))
    assert made["type"] == "UPDATE"
    assert made["data"][0] == {"id": "2", "a": "12", "b": None, "c": "2.00", "u": "102", "txt": ""}
    assert made["old"] == [{"b": "two", "txt": "t2"}, {"id": "3"}]


def test_partial_images_keep_what_did_not_change() -> None:
    """Where Canal loses the key."""
    rows = [{"before": ["1"] + [ABSENT] * 5, "after": [ABSENT, ABSENT, "one", ABSENT, ABSENT, ABSENT]}]
    made = json.loads(fill(canal().plan(DML, "t").update[0].value or (), rows))
    assert (made["data"], made["old"], made["pkNames"]) == ([{"id": "1", "b": "one"}], [{}], ["id"])


def test_a_delete_is_what_was_there() -> None:
    made = json.loads(
        fill(canal().plan(DML, "t").delete[0].value or (), [{"before": ["2", "1", "b", "1.00", "1", None]}])
    )
    assert (made["data"][0]["id"], made["old"], made["type"]) == ("2", None, "DELETE")


def test_keys_in_the_order_of_the_columns() -> None:
    composite = Table("zoo", "k", DML.columns[:3], primary_key=(2, 0))
    made = json.loads(fill(canal().plan(composite, "t").delete[0].value or (), [{"before": ["1", "2", "3"]}]))
    assert made["pkNames"] == ["id", "b"]
    made = json.loads(
        fill(canal().plan(Table("zoo", "k", DML.columns[:1]), "t").delete[0].value or (), [{"before": ["1"]}])
    )
    assert made["pkNames"] is None


def test_gtidon() -> None:
    plan = canal(gtidon=True).plan(DML, "t")
    made = json.loads(fill(plan.delete[0].value or (), [{"before": ["2", "1", "b", "1.00", "1", None]}]))
    assert made["gtid"] == "u:1-5"
    (message,) = canal(gtidon=True).statement(Statement("zoo", "TRUNCATE t", "TRUNCATE TABLE"), MOMENT)
    assert json.loads(message.value or b"")["gtid"] == "u:1-5"


@pytest.mark.parametrize(
    ("declared", "type_", "text"),
    [
        (Declared("INT", ("8",), zerofill=True), types.LONG, "INT(8) unsigned zerofill"),
        (Declared("BIGINT", unsigned=True), types.LONGLONG, "BIGINT unsigned"),
        (Declared("VARCHAR", ("20",), spelled="varchar"), types.VARCHAR, "varchar(20)"),
        (Declared("DOUBLE PRECISION"), types.DOUBLE, "DOUBLE PRECISION"),
        (Declared("ENUM", ("a", "quo'te", "")), types.ENUM, "ENUM('a','quo''te','')"),
        (Declared("SET", ("a\\b", "c\\\\")), types.SET, "SET('a\\b','c\\\\')"),
    ],
)
def test_types_as_declared(declared: Declared, type_: int, text: str) -> None:
    assert mysql_type(Column(0, "c", type_, declared=declared)) == text


@pytest.mark.parametrize(
    ("col", "text"),
    [
        (Column(0, "c", types.LONG, unsigned=True), "int unsigned"),
        (Column(0, "c", types.DATETIME2, meta=3), "datetime(3)"),
        (Column(0, "c", types.TIMESTAMP2), "timestamp"),
        (Column(0, "c", types.YEAR, unsigned=True), "year"),
        (Column(0, "c", types.NEWDECIMAL, meta=10 << 8 | 2, unsigned=True), "decimal(10,2) unsigned"),
        (Column(0, "c", types.BIT, meta=1 << 8 | 1), "bit(9)"),
        (Column(0, "c", types.SET, members=("a", "b'c")), "set('a','b''c')"),
        (Column(0, "c", types.VARCHAR, meta=200, collation=45), "varchar"),
        (Column(0, "c", types.VARCHAR, meta=200, collation=63), "varbinary(200)"),
        (Column(0, "c", types.STRING, meta=40, collation=45), "char"),
        (Column(0, "c", types.STRING, meta=16, collation=63), "binary(16)"),
        (Column(0, "c", types.BLOB, meta=4, collation=45), "longtext"),
        (Column(0, "c", types.BLOB, meta=1, collation=63), "tinyblob"),
        (Column(0, "c", types.GEOMETRY, meta=4, geometry=1), "point"),
        (Column(0, "c", types.VECTOR, meta=4, dimensions=3), "vector(3)"),
        (Column(0, "c", types.JSON, meta=4), "json"),
        (Column(0, "c", types.MARIADB_BLOB_COMPRESSED, meta=2, collation=45), "text"),
        (Column(0, "c", types.MARIADB_VARCHAR_COMPRESSED, meta=20, collation=45), "varchar"),
    ],
)
def test_types_that_no_declaration_is_known_of(col: Column, text: str) -> None:
    assert mysql_type(col) == text


def test_sql_types_that_depend_on_the_value() -> None:
    unsigned = Column(3, "c", types.LONGLONG, unsigned=True)
    assert sql_type(unsigned, "after") == Value(3, "after", "canal_sql_type", null="-5", absent="-5")
    assert [jdbc_of(unsigned, value) for value in (None, "9223372036854775807", "9223372036854775808")] == [-5, -5, 3]
    assert sql_type(Column(0, "c", types.LONGLONG), "after") == Text("-5")
    assert sql_type(Column(0, "c", types.INT24, unsigned=True), "after") == Text("4")
    document = Column(1, "j", types.JSON, meta=4)
    assert sql_type(document, "before") == Value(1, "before", "canal_sql_type", null="1111", absent="12")
    assert [jdbc_of(document, value) for value in (None, "{}")] == [1111, 12]


def test_characters_that_are_bytes() -> None:
    declared = Declared("VARCHAR", ("50",), charset="binary")
    assert sql_type(Column(0, "c", types.VARCHAR, collation=63, declared=declared), "after") == Text("12")
    assert sql_type(Column(0, "c", types.VARCHAR, collation=63), "after") == Text("2004")


STATEMENTS = [
    ("CREATE TABLE", "CREATE TABLE IF NOT EXISTS `a``b`.t (id INT)", "CREATE", "a`b", "t"),
    ("ALTER TABLE", "/* x */ ALTER TABLE t ADD c INT", "ALTER", "zoo", "t"),
    ("ALTER TABLE", "ALTER TABLE zoo.`d` RENAME TO two.e", "RENAME", "two", "e"),
    ("ALTER TABLE", "ALTER TABLE d RENAME COLUMN a TO b", "ALTER", "zoo", "d"),
    ("DROP TABLE", "DROP TABLE `d_like`,`swap_a` /* generated by server */", "ERASE", "zoo", "d_like"),
    ("RENAME TABLE", "RENAME TABLE d TO `e`, f TO g", "RENAME", "zoo", "e"),
    ("TRUNCATE TABLE", "TRUNCATE d_again", "TRUNCATE", "zoo", "d_again"),
    ("TRUNCATE TABLE", "TRUNCATE TABLE x.`t`", "TRUNCATE", "x", "t"),
    ("CREATE INDEX", "CREATE UNIQUE INDEX i ON t (a)", "CINDEX", "zoo", "t"),
    ("DROP INDEX", "DROP INDEX i ON t", "DINDEX", "zoo", "t"),
    ("CREATE DATABASE", "CREATE DATABASE `zoo.d-b`", "QUERY", "zoo.d-b", ""),
    ("DROP DATABASE", "DROP DATABASE IF EXISTS two", "QUERY", "two", ""),
]


@pytest.mark.parametrize(("kind", "text", "type_", "database", "table"), STATEMENTS)
def test_statements(kind: str, text: str, type_: str, database: str, table: str) -> None:
    (message,) = canal().statement(Statement("zoo", text, kind), MOMENT)
    assert (message.topic, message.key) == ("task", None)
    assert (message.value or b"").decode() == (
        f'{{"data":null,"database":"{database}","es":1700000020000,"gtid":"","id":11,"isDdl":true,"mysqlType":null,'
        f'"old":null,"pkNames":null,"sql":"{text}","sqlType":null,"table":"{table}","ts":1795250587796,"type":"{type_}"}}'
    )


def test_what_the_schema_history_says_of_a_statement_counts() -> None:
    changes = (TableChange("RENAME", "zoo", "d", new_name=("two", "e")), TableChange("ALTER", "zoo", "other"))
    (message,) = canal().statement(Statement("zoo", "ALTER TABLE d RENAME TO two.e", "ALTER TABLE", changes), MOMENT)
    made = json.loads(message.value or b"")
    assert (made["type"], made["database"], made["table"]) == ("RENAME", "two", "e")


def test_a_database_that_is_dropped_is_not_one_of_its_tables() -> None:
    statement = Statement("zoo", "DROP DATABASE two", "DROP DATABASE", (TableChange("DROP", "two", "t"),))
    (message,) = canal().statement(statement, MOMENT)
    made = json.loads(message.value or b"")
    assert (made["type"], made["database"], made["table"]) == ("QUERY", "two", "")


@pytest.mark.parametrize("kind", ["CREATE VIEW", "GRANT", "ALTER DATABASE", "ANALYZE TABLE", ""])
def test_statements_that_canal_says_nothing_of(kind: str) -> None:
    assert canal().statement(Statement("zoo", "…", kind), MOMENT) == ()


@pytest.mark.parametrize(
    ("text", "table"),
    [
        ("INSERT INTO dml2 VALUES (4,'with query')", "dml2"),
        ("/* c */ UPDATE `a`.`b``c` SET v = 1", "b`c"),
        ("DELETE FROM dml2 WHERE id IN (3,4)", "dml2"),
        ("LOAD DATA INFILE 'x' INTO TABLE t", ""),
    ],
)
def test_the_statement_behind_rows(text: str, table: str) -> None:
    (message,) = canal().query(text, MOMENT)
    made = json.loads(message.value or b"")
    assert (made["type"], made["isDdl"], made["database"], made["table"], made["sql"]) == (
        "QUERY",
        False,
        "",
        table,
        text,
    )


def test_the_end_of_xa_transactions() -> None:
    (message,) = canal().statement(Statement("", "XA ROLLBACK X'786132',X'',7", "XA ROLLBACK"), MOMENT)
    made = json.loads(message.value or b"")
    assert (made["type"], made["isDdl"], made["database"], made["table"]) == ("XAROLLBACK", False, "", "")


def test_filters() -> None:
    create = Statement("zoo", "CREATE TABLE t (id INT)", "CREATE TABLE")
    database = Statement("zoo", "CREATE DATABASE x", "CREATE DATABASE")
    assert canal(filter_query_ddl=True).statement(create, MOMENT) == ()
    assert canal(filter_query_ddl=True).statement(database, MOMENT) == ()
    assert canal(filter_query_dcl=True).statement(database, MOMENT) == ()
    assert len(canal(filter_query_dcl=True).statement(create, MOMENT)) == 1
    assert canal().interests == {"statement", "query", "xa"}
    assert canal(filter_query_dml=True).interests == {"statement", "xa"}


def test_messages_go_where_their_table_goes() -> None:
    sink = StdoutSink(type="stdout", format="canal", topic="{task}.{database}.{table}")
    made = formats["canal"]("task", sink, "mysql")
    (create,) = made.statement(Statement("zoo", "CREATE TABLE `a b` (id INT)", "CREATE TABLE"), MOMENT)
    (database,) = made.statement(Statement("zoo", "DROP DATABASE zoo", "DROP DATABASE"), MOMENT)
    assert (create.topic, database.topic) == ("task.zoo.a_b", "task")
