"""Values of DEFAULT clauses, which Debezium's format writes in the place of NULL."""

from __future__ import annotations

import pytest

from replicator.encode.debezium.defaults import default
from replicator.model import types
from replicator.model.table import Column
from replicator.schema.definitions import decode
from replicator.schema.parser import parse
from replicator.schema.server_schema import ServerSchema


@pytest.mark.parametrize(
    ("written", "type_", "renderer", "shown"),
    [
        ("VARCHAR(9) DEFAULT X'4142'", types.VARCHAR, "text", '"AB"'),
        ("VARCHAR(9) DEFAULT 0xC3A9", types.VARCHAR, "text", '"é"'),
        ("VARCHAR(9) CHARACTER SET latin1 DEFAULT 0xE9", types.VARCHAR, "text", '"é"'),
        ("VARCHAR(9) CHARACTER SET gbk DEFAULT 0xC4E3", types.VARCHAR, "text", None),  # not known here: stays NULL
        ("VARCHAR(9) DEFAULT 0xFF", types.VARCHAR, "text", None),
        ("VARCHAR(9) DEFAULT _utf8mb4 X'41'", types.VARCHAR, "text", '"A"'),
        ("VARCHAR(9) DEFAULT b'1000001'", types.VARCHAR, "text", '"A"'),
        ("VARCHAR(9) DEFAULT TRUE", types.VARCHAR, "text", '"1"'),
        ("VARCHAR(9) DEFAULT 'TRUE'", types.VARCHAR, "text", '"TRUE"'),
        ("VARCHAR(9) DEFAULT '0x41'", types.VARCHAR, "text", '"0x41"'),
        ("VARCHAR(9) DEFAULT 'b''1'''", types.VARCHAR, "text", "\"b'1'\""),
        ("ENUM('A','B') DEFAULT X'42'", types.ENUM, "enum", '"B"'),
        ("VARBINARY(9) DEFAULT X'00FF'", types.VARCHAR, "base64", '"AP8="'),
        ("VARBINARY(9) DEFAULT b'100000001'", types.VARCHAR, "base64", '"AQE="'),
        ("VARBINARY(9) DEFAULT TRUE", types.VARCHAR, "base64", '"MQ=="'),
        ("INT DEFAULT X'41'", types.LONG, "int_java", "65"),
        ("DECIMAL(5,2) DEFAULT 0x41", types.NEWDECIMAL, "decimal_string", '"65.00"'),
    ],
)
def test_literals_are_what_the_server_has_of_them(written: str, type_: int, renderer: str, shown: str | None) -> None:
    operation = parse(f"CREATE TABLE t (c {written}) CHARACTER SET utf8mb4", mariadb=False).operation
    assert operation is not None
    (change,) = ServerSchema(mariadb=False).apply(operation, "db")
    (defined,) = decode(change.after).columns
    column = Column(0, "c", type_, meta=5 << 8 | 2 if type_ == types.NEWDECIMAL else 0, declared=defined.declared)
    assert default(column, renderer) == shown


def test_set_default() -> None:
    """Also by ALTER TABLE, and gone with the DEFAULT."""
    schema = ServerSchema(mariadb=False)
    shown = []
    for text in ("CREATE TABLE t (c VARCHAR(9)) CHARACTER SET utf8mb4", *ALTERED):
        operation = parse(text, mariadb=False).operation
        assert operation is not None
        (change,) = schema.apply(operation, "db")
        (defined,) = decode(change.after).columns
        shown.append(default(Column(0, "c", types.VARCHAR, declared=defined.declared), "text"))
    assert shown == [None, '"A"', '"x"', None]


ALTERED = (
    "ALTER TABLE t ALTER c SET DEFAULT X'41'",
    "ALTER TABLE t ALTER c SET DEFAULT 'x'",
    "ALTER TABLE t ALTER c DROP DEFAULT",
)
