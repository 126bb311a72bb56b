"""Running to the end of the log, where what stands last in it is no transaction of ours: the end is seen at once, not
with a heartbeat, which may be an hour away."""

from __future__ import annotations

import contextlib

import pytest

from dev.servers.database import Database
from replicator.model.position import Position
from tests.support.in_memory import Task

pytestmark = [pytest.mark.servers, pytest.mark.timeout(30)]

HEARTBEAT = 120
"""Seconds; more than a test may take."""

ROTATED = ["FLUSH BINARY LOGS"]
TAILS = {
    "rotated": ROTATED,
    "rotated twice": ROTATED * 2,
    "another table": ["INSERT INTO other VALUES (1)"],
    "nothing of a transaction": ["BEGIN", "UPDATE other SET id = id WHERE id = -1", "COMMIT"],
    "rolled back": ["BEGIN", "INSERT INTO other VALUES (2)", "ROLLBACK"],
    "a temporary table": ["CREATE TEMPORARY TABLE x (id INT)", "INSERT INTO x VALUES (1)"],
    "prepared": ["XA START 'end'", "INSERT INTO other VALUES (3)", "XA END 'end'", "XA PREPARE 'end'"],
    "decided": ["XA ROLLBACK 'end'"],
    "not logged": ["SET SESSION sql_log_bin = 0", "INSERT INTO other VALUES (4)"],
}


@pytest.fixture(params=["mysql", "mariadb"])
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Database:
    monkeypatch.setenv("TEST_PASSWORD", "replicator")
    found: Database = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def shop(server: Database, request: pytest.FixtureRequest) -> str:
    name: str = request.getfixturevalue(
        "database" if "mysql" in request.node.callspec.params.values() else "mariadb_database"
    )
    for table in ("ill", "other"):
        server.execute(f"CREATE TABLE {name}.{table} (id INT PRIMARY KEY)")
    return name


def end(server: Database) -> Position:
    return Position(*server.end_of_log())


def say(server: Database, shop: str, statements: list[str]) -> None:
    """In a session that ends then."""
    with contextlib.closing(server.connect(database=shop)) as connection:
        for sql in statements:
            connection.cursor().execute(sql)


def test_what_stands_last(server: Database, shop: str) -> None:
    task = Task(server, "last", [f"{shop}.ill"], end(server), None)
    for number, statements in enumerate(TAILS.values()):
        server.execute(f"INSERT INTO {shop}.ill VALUES ({number})")
        task.run(heartbeat_s=HEARTBEAT)
        say(server, shop, statements)
        there = end(server)
        task.run(heartbeat_s=HEARTBEAT)
        last = task.store.load()
        assert last is not None and last.position.order >= there.order
    assert task.rows("ill") == list(range(len(TAILS)))


def test_the_table_is_caught_up_behind_a_rotation(server: Database, shop: str) -> None:
    task = Task(server, "last", [f"{shop}.*"], end(server), None)
    ill = f"{shop}.ill"
    server.execute(f"INSERT INTO {ill} VALUES (1)")
    task.run(heartbeat_s=HEARTBEAT)
    task.put(ill)
    for number in (2, 3):
        server.execute(f"INSERT INTO {ill} VALUES ({number})")
        say(server, shop, ROTATED)
        task.run(heartbeat_s=HEARTBEAT)
    task.replay(ill)
    task.run(heartbeat_s=HEARTBEAT)
    assert task.rows("ill") == [1, 2, 3]
