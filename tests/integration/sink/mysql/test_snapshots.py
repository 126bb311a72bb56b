"""Snapshots into real servers, while writers change the rows: at the end both sides are equal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dev.servers import Database
from tests.support.filled import Fill, writers
from tests.support.verified import Pair, pair, verify
from tests.support.waiting import eventually

pytestmark = [pytest.mark.timeout(300)]

PARENT = "CREATE TABLE a (id INT PRIMARY KEY, u INT UNIQUE, t VARCHAR(200))"
SELF = (
    "CREATE TABLE b (id INT PRIMARY KEY, up INT, v BIGINT, KEY (up), CONSTRAINT s FOREIGN KEY (up) REFERENCES b (id))"
)
CHILD = "CREATE TABLE c (x INT, y INT, p INT, PRIMARY KEY (x, y), CONSTRAINT f FOREIGN KEY (p) REFERENCES z (id))"
LATE = "CREATE TABLE z (id INT PRIMARY KEY, v INT)"
CHANGES = [
    "UPDATE a SET u = u + 100000 WHERE id = {id}",
    "UPDATE a SET u = NULL WHERE id = {other}",
    "REPLACE INTO a VALUES ({id}, {other}, 'replaced {n}')",  # takes a unique value from another row
    "INSERT INTO a VALUES ({id}, {id}, 'again') ON DUPLICATE KEY UPDATE t = 'twice {n}'",
    "DELETE FROM a WHERE id IN ({id}, {other})",
    "UPDATE a SET id = id + 10000 WHERE id = {id}",
    "UPDATE a SET id = id - 10000 WHERE id = {id} + 10000",
    "DELETE FROM b WHERE id = {id}",
    "INSERT INTO b VALUES ({id}, {other}, {n})",
    "UPDATE b SET up = {other}, v = {n} WHERE id = {id}",
    "INSERT INTO z VALUES ({id}, {n})",
    "DELETE FROM z WHERE id = {id}",
    "INSERT INTO c VALUES ({id}, {n}, {other})",
    "UPDATE c SET p = {other}, y = -y WHERE x = {id}",
    "DELETE FROM c WHERE x = {id}",
]


@pytest.fixture(params=["mysql-mysql", "mysql-mariadb", "mariadb-mysql", "mariadb-mariadb"])
def two(request: pytest.FixtureRequest) -> Iterator[Pair]:
    source, target = str(request.param).split("-")
    server: Database = request.getfixturevalue(source)
    other = request.getfixturevalue(target) if target != source else request.getfixturevalue(f"make_{target}")()
    with pair(server, other) as made:
        yield made


@pytest.fixture(params=["mysql", "mariadb"])
def same(request: pytest.FixtureRequest) -> Iterator[Pair]:
    """Source and target on one server."""
    server: Database = request.getfixturevalue(request.param)
    with pair(server, server) as made:
        yield made


@pytest.fixture(autouse=True)
def _no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Database, "replicator", ("root", ""))


def filling(two: Pair, snapshot: Any = "initial", **sink: Any) -> Fill:
    place = {"position_database": two.other, "create_tables": True, **sink}
    return Fill(two.config(source={"snapshot": snapshot}, sink=place))


def prepared(two: Pair, rows: int = 5000) -> None:
    two.here(PARENT, SELF, LATE, CHILD)
    for first in range(1, rows + 1, 1000):
        numbers = range(first, first + 1000)
        two.here("INSERT INTO a VALUES " + ",".join(f"({n},{n},REPEAT('x',{n % 180}))" for n in numbers))
        two.here("INSERT INTO b VALUES " + ",".join(f"({n},{max(1, n - 1)},{n})" for n in numbers))
        two.here("INSERT INTO z VALUES " + ",".join(f"({n},{n})" for n in numbers))
        two.here("INSERT INTO c VALUES " + ",".join(f"({n},{n},{n})" for n in numbers))


def equal(two: Pair, fill: Fill) -> dict[str, int]:
    """Rows of each table. The task runs."""
    found = verify(fill.config, wait=60)
    assert {name: each.result for name, each in found.items()} == dict.fromkeys(found, "equal"), found
    return {name: each.rows for name, each in found.items()}


def count(two: Pair, table: str) -> int:
    return int(two.target.execute(f"SELECT COUNT(*) FROM {two.other}.{table}")[0][0])


def test_fills_an_empty_target(two: Pair) -> None:
    prepared(two)
    fill = filling(two)
    with fill.running():
        progress = fill.complete()
        two.here("INSERT INTO z VALUES (100000, 1)", "UPDATE a SET t = 'later' WHERE id = 1")
        assert equal(two, fill) == {"a": 5000, "b": 5000, "c": 5000, "z": 5001}
    assert (progress.rows, progress.finished, fill.errors) == (20_000, 4, [])


@pytest.mark.parametrize("connections", [1, 3])
def test_writers_during_the_copy(two: Pair, connections: int) -> None:
    prepared(two)
    fill = filling(two, {"mode": "initial", "chunk_rows": 100, "connections": connections, "max_rows_per_s": 4000})
    with writers(two, CHANGES) as done, fill.running():
        fill.complete()
        before = done[0]
        eventually(lambda: done[0] > before + 200)
        for _ in range(2):
            equal(two, fill)
    assert fill.errors == []


def test_restarts_during_the_copy(same: Pair) -> None:
    prepared(same)
    fill = filling(same, {"mode": "initial", "chunk_rows": 100, "max_rows_per_s": 5000})
    with writers(same, CHANGES):
        for _ in range(3):
            with fill.running():
                before = fill.snapshot.rows if fill.snapshot else 0
                eventually(lambda: fill.snapshot is not None and fill.snapshot.rows > before + 2000, 120)  # noqa: B023
        with fill.running():
            fill.complete()
            equal(same, fill)
    assert fill.errors == []


def test_existing_rows_are_refused_before_anything_is_written(same: Pair) -> None:
    prepared(same, 1000)
    same.there(LATE, "INSERT INTO z VALUES (7, 7), (-1, -1)")
    fill = filling(same)
    with fill.running():
        error = fill.stopped()
    assert error.code == "E3460" and f"{same.other}.z" in str(error.found)
    assert count(same, "z") == 2 and count(same, "a") == 0
    same.there("DELETE FROM z")
    fill.failed = None
    with fill.running():
        fill.complete()
        assert equal(same, fill)["z"] == 1000


@pytest.mark.parametrize(("policy", "seven"), [("replace", 7), ("keep", 70)])
def test_existing_rows_by_policy(same: Pair, policy: str, seven: int) -> None:
    prepared(same, 1000)
    same.there(LATE, "INSERT INTO z VALUES (7, 70), (8, 80), (-1, -1)")
    fill = filling(same, existing_rows=policy)
    with fill.running():
        fill.complete()
        same.here("UPDATE z SET v = 800 WHERE id = 8", "INSERT INTO z VALUES (5000, 1)")
        eventually(lambda: count(same, "z") == 1002)
    found = dict(same.target.execute(f"SELECT id, v FROM {same.other}.z WHERE id IN (-1, 1, 7, 8)"))
    assert found == {-1: -1, 1: 1, 7: seven, 8: 800}


def test_tables_whose_rows_change_unlogged_are_refused(same: Pair) -> None:
    same.here(LATE, "CREATE TABLE k (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES z (id) ON DELETE CASCADE)")
    same.here("INSERT INTO z VALUES (1, 1)", "INSERT INTO k VALUES (1, 1)")
    logged = same.source.execute("SHOW GLOBAL VARIABLES LIKE 'innodb_native_foreign_keys'")
    fill = filling(same)
    with fill.running():
        if logged and logged[0][1] == "OFF":
            fill.complete()
            same.here("DELETE FROM z")
            eventually(lambda: count(same, "k") == 0)
        else:
            error = fill.stopped()
            assert (error.code, error.table) == ("E3461", f"{same.database}.k")


def test_tables_without_a_primary_key_are_refused(same: Pair) -> None:
    same.here("CREATE TABLE k (id INT NOT NULL UNIQUE, p INT)", "INSERT INTO k VALUES (1, 1)")
    fill = filling(same)
    with fill.running():
        error = fill.stopped()
    assert (error.code, error.table, count(same, "k")) == ("E3462", f"{same.database}.k", 0)
