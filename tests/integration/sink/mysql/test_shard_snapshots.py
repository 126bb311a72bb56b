"""Snapshots of tables that are merged into one, while writers change the rows, and what `verify` says of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dev.servers import Database
from replicator.config.task import TaskConfig
from tests.integration.sink.mysql.test_shards import ITEM, SHARDS
from tests.support.filled import Fill, writers
from tests.support.verified import Pair, pair, summary, verify
from tests.support.waiting import eventually

pytestmark = [pytest.mark.servers, pytest.mark.timeout(180)]


@pytest.fixture(autouse=True)
def _no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Database, "replicator", ("root", ""))


@pytest.fixture(params=["mysql", "mariadb"])
def two(request: pytest.FixtureRequest) -> Iterator[Pair]:
    server: Database = request.getfixturevalue(request.param)
    with pair(server, server) as made_:
        yield made_


@pytest.fixture
def one(request: pytest.FixtureRequest) -> Iterator[Pair]:
    server: Database = request.getfixturevalue("mysql")
    with pair(server, server) as made_:
        yield made_


CHANGES = [
    "UPDATE item_0{0} SET name = '{{n}}' WHERE id = {{id}}",
    "DELETE FROM item_0{0} WHERE id = {{other}}",
    "INSERT INTO item_0{0} VALUES ({{id}}, '{{n}}', '{{other}}') ON DUPLICATE KEY UPDATE name = 'twice'",
    "UPDATE item_0{0} SET id = id + 10000 WHERE id = {{id}}",
    "REPLACE INTO item_0{0} VALUES ({{id}}, '{{n}}', '{{other}}')",
]


def task(two: Pair, *, disjoint: bool = False, **sink: Any) -> TaskConfig:
    item = [f"{two.database}.item_*"]
    rename = {"tables": item, "table": "item"} | ({"keys": "disjoint"} if disjoint else {})
    add = {"match": rf"{two.database}\.item_(\d+)", "columns": {"shard": "s$1"}, "key": True}
    transforms = {"rename": [rename]} | ({} if disjoint else {"add": [add]})
    source = {"snapshot": {"mode": "initial", "chunk_rows": 100, "max_rows_per_s": 5000}}
    place = {"position_database": two.other, "create_tables": True, **sink}
    return two.config(source=source, sink=place, transforms=transforms)


def filled(two: Pair, rows: int = 1500, *, apart: int = 0) -> None:
    for shard, table in enumerate(SHARDS):
        two.here(f"CREATE TABLE {table} {ITEM}")
        numbers = range(1 + shard * apart, rows + 1 + shard * apart)
        two.here(f"INSERT INTO {table} VALUES " + ",".join(f"({n},'{shard}','{n}')" for n in numbers))


def test_a_snapshot_of_three_tables_under_writers_with_restarts(one: Pair) -> None:
    """`verify` compares each table with its part of the target."""
    filled(one)
    fill = Fill(task(one))
    with writers(one, [change.format(shard) for change in CHANGES for shard in range(3)]):
        with fill.running():
            eventually(lambda: fill.snapshot is not None and fill.snapshot.rows > 1000)
        with fill.running():
            fill.complete()
    with fill.running():
        found = verify(fill.config, wait=60)
    assert {name: each.result for name, each in found.items()} == dict.fromkeys(found, "equal"), found
    assert {*found} == {*SHARDS, "item (rows of no table)"}
    assert fill.errors == []
    one.there(
        "UPDATE item SET name = 'wrong' WHERE shard = 's01' ORDER BY id LIMIT 1",
        "UPDATE item SET shard = 'S02' WHERE shard = 's02' ORDER BY id LIMIT 1",
    )
    with fill.running():
        found = verify(fill.config, wait=60)
    assert summary(found["item_00"])[0] == "equal"
    assert summary(found["item_01"]) == ("differs", 0, 0, 1)
    assert summary(found["item_02"]) == ("differs", 1, 0, 0)
    assert summary(found["item (rows of no table)"]) == ("differs", 0, 1, 0)


def test_a_snapshot_of_disjoint_tables_under_writers(two: Pair) -> None:
    filled(two, apart=100_000)
    fill = Fill(task(two, disjoint=True))
    changes = [
        f"UPDATE item_0{shard} SET name = '{{n}}' WHERE id = {{id}} + {shard * 100_000}" for shard in range(3)
    ] + [f"DELETE FROM item_0{shard} WHERE id = {{other}} + {shard * 100_000}" for shard in range(3)]
    changes += [f"REPLACE INTO item_0{n} VALUES ({{id}} + {n * 100_000}, '{{n}}', 'e{n}-{{other}}')" for n in range(3)]
    two.here(*(f"UPDATE {table} SET email = CONCAT('e{n}-', email)" for n, table in enumerate(SHARDS)))
    with writers(two, changes), fill.running():
        fill.complete()
    two.here("CREATE TABLE last (id INT PRIMARY KEY)", "INSERT INTO last VALUES (1)")
    with fill.running():
        eventually(lambda: two.target.execute(f"SHOW TABLES FROM {two.other} LIKE 'last'"))
        eventually(lambda: two.target.execute(f"SELECT * FROM {two.other}.last"))
        found = verify(fill.config, wait=60)
    parts = " UNION ALL ".join(f"SELECT * FROM {two.database}.{table}" for table in SHARDS)
    assert two.source.execute(f"{parts} ORDER BY id") == two.target.execute(
        f"SELECT * FROM {two.other}.item ORDER BY id"
    )
    assert fill.errors == []
    assert {name: found[name].result for name in SHARDS} == dict.fromkeys(SHARDS, "equal"), found
    assert "disjoint" in found["item_00"].note


def test_a_snapshot_notices_keys_that_two_tables_have(two: Pair) -> None:
    filled(two, rows=300, apart=100_000)
    two.here("INSERT INTO item_02 VALUES (7, 'the other', NULL)")
    fill = Fill(task(two, disjoint=True))
    with fill.running():
        error = fill.stopped()
    assert error.code == "E3424" and error.table == f"{two.database}.item_02"
    assert f"{two.database}.item_00 at the source also has" in error.found
    assert two.target.execute(f"SELECT name FROM {two.other}.item WHERE id = 7") == [("0",)]
