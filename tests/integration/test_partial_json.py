"""Partial JSON updates of a real server: the same records as with whole documents."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dev.servers import MySQL
from replicator.decode.binlog import event_types
from tests.support import script
from tests.support.decoded import decoded, kinds, new_file, told

ZOO = Path(__file__).parent.parent / "golden" / "partial_json.sql"
NAMES = ("a", "b", '"two words"', '"q\\\\"uote"', '"ünï😀"', '"1st"', '"$"', '""')
VALUES = (
    "1",
    "-40000",
    "18446744073709551615",
    "1.5",
    "TRUE",
    "NULL",
    "'text ü 😀'",
    "REPEAT('long ', 60)",
    "CAST('12.50' AS DECIMAL(9,2))",
    "CAST('2024-02-29' AS DATE)",
    "CAST('-12:34:56.5' AS TIME(6))",
    "CAST(x'00FF10' AS BINARY)",
    "JSON_ARRAY(1, 'x', JSON_OBJECT('a', 2))",
    "JSON_OBJECT('b', JSON_ARRAY(), 'a', JSON_OBJECT())",
)
DOCUMENTS = (
    "JSON_OBJECT('a', JSON_ARRAY(1,2,JSON_OBJECT('b', 'x')), 'b', JSON_OBJECT('a', 1), 'two words', REPEAT('y', 300))",
    "JSON_ARRAY(JSON_ARRAY(1,2), JSON_OBJECT('a', JSON_OBJECT('b', NULL)), REPEAT('y', 300), 4, 5)",
    "JSON_OBJECT('a', REPEAT('y', 70000), 'b', JSON_ARRAY(1, 100000, -100000))",
)


def updates(chance: random.Random, count: int) -> Iterator[str]:
    """Random changes of three documents; the last is one of those that need offsets of four bytes."""

    def index() -> str:
        number = chance.randrange(5)
        return str(number) if chance.random() < 0.5 else f"last-{number}" if number else "last"

    def path() -> str:
        legs = (
            f"[{index()}]" if chance.random() < 0.5 else f".{chance.choice(NAMES)}" for _ in range(chance.randint(1, 3))
        )
        return "'$" + "".join(legs) + "'"

    yield "CREATE TABLE t (id INT PRIMARY KEY, j JSON, n VARCHAR(10), k JSON, b BIT(3), l JSON NOT NULL)"
    for number, document in enumerate(DOCUMENTS):
        yield f"INSERT INTO t VALUES ({number}, {document}, 'n', {document}, NULL, {document})"
    for _ in range(count):
        row, column = chance.randrange(len(DOCUMENTS)), chance.choice("jkl")
        call = chance.choice(("SET", "SET", "REPLACE", "INSERT", "ARRAY_APPEND", "ARRAY_INSERT", "REMOVE"))
        if call == "ARRAY_INSERT":
            at = f"{path()[:-1]}[{index()}]'"
            change = f"JSON_ARRAY_INSERT({column}, {at}, {chance.choice(VALUES)})"
        elif call == "REMOVE":
            change = f"JSON_REMOVE({column}, {path()})"
        else:
            pairs = ", ".join(f"{path()}, {chance.choice(VALUES)}" for _ in range(chance.randint(1, 3)))
            change = f"JSON_{call}({column}, {pairs})"
        both = ", n = 'other'" if chance.random() < 0.2 else ""
        yield f"UPDATE t SET {column} = {change}{both} WHERE id = {row}"


def with_option(value: str, statements: Iterator[str]) -> Iterator[str]:
    yield f"SET SESSION binlog_row_value_options = '{value}'"
    yield from (text for text in statements if "binlog_row_value_options" not in text and "DATABASE" not in text)


def test_random_changes(make_mysql: Callable[..., MySQL]) -> None:
    server = make_mysql()
    whole, types = told(server, with_option("", updates(random.Random(7), 900)))
    assert not types[event_types.PARTIAL_UPDATE_ROWS]
    partial, types = told(server, with_option("PARTIAL_JSON", updates(random.Random(7), 900)))
    assert types[event_types.PARTIAL_UPDATE_ROWS] > 200
    assert len(partial) == len(whole)
    assert [pair for pair in zip(partial, whole, strict=True) if pair[0] != pair[1]] == []


LAST = (
    "JSON_SET(j, '$.a[last]', 'SET')",
    "JSON_SET(j, '$.a[last-1]', 'SET', '$.a[last].b', 1)",
    "JSON_SET(j, '$.a[last-9]', 'before all')",
    "JSON_SET(j, '$.n[last]', 5)",  # not an array: the value itself
    "JSON_REPLACE(j, '$.a[last-2][last]', 'REPLACE')",
    "JSON_REPLACE(j, '$.a[last].b', 'REPLACE')",
    "JSON_REMOVE(j, '$.a[last]')",
    "JSON_REMOVE(j, '$.a[last-1]')",
    "JSON_INSERT(j, '$.a[last-9]', 'INSERT')",
    "JSON_ARRAY_INSERT(j, '$.a[last]', 'ARRAY_INSERT')",
    "JSON_ARRAY_INSERT(j, '$.a[last-9]', 'ARRAY_INSERT')",
    "JSON_ARRAY_APPEND(j, '$.a[last]', 'ARRAY_APPEND')",
)


def test_places_counted_from_the_end(make_mysql: Callable[..., MySQL]) -> None:
    """Each document is what the server itself says it is."""
    server = make_mysql()

    def statements() -> Iterator[str]:
        yield "CREATE TABLE t (id INT PRIMARY KEY, j JSON)"
        array = "JSON_ARRAY(1, JSON_ARRAY(2, 3), 4, JSON_OBJECT('b', 'x'))"
        for number, change in enumerate(LAST):
            yield f"INSERT INTO t VALUES ({number}, JSON_OBJECT('a', {array}, 'n', 1, 'z', REPEAT('y', 300)))"
            yield f"UPDATE t SET j = {change} WHERE id = {number}"

    server.execute("CREATE DATABASE last")
    since = new_file(server)
    script.run(server, with_option("PARTIAL_JSON", statements()), database="last")
    records = decoded(server, "last", lambda table: table.database == "last", since)
    assert kinds(server, since)[event_types.PARTIAL_UPDATE_ROWS] >= len(LAST) - 2
    afters = [json.loads(record[2] or b"")["after"] for record in records]
    found = {row["id"]: json.loads(row["j"]) for row in afters}
    rows = server.execute("SELECT id, CAST(j AS CHAR CHARACTER SET utf8mb4) FROM last.t")
    assert found == {number: json.loads(text) for number, text in rows}


@pytest.mark.parametrize("compression", ["OFF", "ON"])
def test_the_golden_script(make_mysql: Callable[..., MySQL], compression: str) -> None:
    server = make_mysql()
    statements = [text for text in script.statements(ZOO) if not text.startswith("USE ")]
    whole, _ = told(server, with_option("", iter(statements)))
    server.execute(f"SET GLOBAL binlog_transaction_compression = {compression}")
    partial, types = told(server, with_option("PARTIAL_JSON", iter(statements)))
    assert bool(types[event_types.PARTIAL_UPDATE_ROWS]) == (compression == "OFF")
    assert len(whole) > 25
    assert partial == whole
