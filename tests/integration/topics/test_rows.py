"""Rows of one database reach another one through topics."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.between import Between

TABLE = "CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(40), price DECIMAL(8,2), at DATETIME(6), UNIQUE (name))"
FORMATS = ["debezium", "maxwell"]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("delivery", ["exactly_once", "at_least_once"])
@pytest.mark.parametrize(("partitions", "apply"), [(1, "auto"), (3, "sql")])
def test_changes(between: Between, form: str, delivery: str, partitions: int, apply: str) -> None:
    several = partitions > 1 and form == "debezium"  # Maxwell has all records of a database in one partition
    table = TABLE.replace(", UNIQUE (name)", "") if several else TABLE
    between.both(table, "CREATE TABLE pair (a INT, b VARBINARY(9), v INT, PRIMARY KEY (a, b))")
    source = {"format": form, "one_partition_per_table": form == "maxwell"}
    between.run(
        between.source,
        between.here,
        "INSERT INTO item VALUES (1, 'one', 1.10, '2024-02-29 12:00:00.123456'), (2, 'two', -2, NULL), "
        "(3, 'x', 3, NULL)",
        "UPDATE item SET price = 7 WHERE id = 1",
        "UPDATE item SET id = 20 WHERE id = 2",
        "DELETE FROM item WHERE id = 3",
        "INSERT INTO item VALUES (4, 'x', NULL, NULL)",
        "INSERT INTO pair VALUES (1, 'a', 1), (1, 'b', 2)",
        "UPDATE pair SET b = 'c', v = 3 WHERE b = 'a'",
    )
    between.write(format=form, delivery=delivery, partitions=partitions)
    between.apply(source, apply=apply)
    for table, order in (("item", "id"), ("pair", "a, b")):
        here, there = between.rows(table, order)
        assert here == there, table
        assert here
    between.run(between.source, between.here, "UPDATE item SET name = CONCAT(name, id)", "DELETE FROM pair WHERE v = 2")
    between.write(format=form, delivery=delivery, partitions=partitions)
    between.apply(source, apply=apply)
    assert [between.rows(table)[0] for table in ("item",)] == [between.rows(table)[1] for table in ("item",)]


@pytest.mark.parametrize("form", FORMATS)
def test_everything_again(between: Between, form: str) -> None:
    """As from a producer that has sent all records twice."""
    between.both(TABLE)
    between.run(
        between.source,
        between.here,
        "INSERT INTO item VALUES (1, 'one', 1, NULL), (2, 'two', 2, NULL), (3, 'three', 3, NULL)",
        "UPDATE item SET name = 'other' WHERE id = 1",
        "UPDATE item SET name = 'one' WHERE id = 2",
        "DELETE FROM item WHERE id = 3",
    )
    between.write(format=form)
    between.apply({"format": form})
    assert between.rows("item")[0] == between.rows("item")[1]
    _forget(between)
    between.apply({"format": form})
    assert between.rows("item")[0] == between.rows("item")[1]


def _forget(between: Between) -> None:
    from replicator.checkpoint.memory_store import MemoryStore

    between.stored = MemoryStore()
    between.target.execute(f"DELETE FROM {between.place}.replicator_position")


def values(between: Between, server: Any, database: str, table: str) -> list[tuple[Any, ...]]:
    columns = [str(row[0]) for row in server.execute(f"SHOW COLUMNS FROM {database}.{table}")]
    parts = [f"HEX(`{name}`), HEX(CAST(`{name}` AS BINARY))" for name in columns]
    found: list[tuple[Any, ...]] = server.execute(f"SELECT {', '.join(parts)} FROM {database}.{table} ORDER BY id")
    return found
