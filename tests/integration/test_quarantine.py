"""A table that goes into quarantine, comes out of it and is replayed: every row once, on a real server."""

from __future__ import annotations

import pytest

from dev.servers.database import Database
from replicator.model.position import Position
from tests.support.in_memory import Task

pytestmark = pytest.mark.servers


@pytest.mark.parametrize("kind", ["mysql", "mariadb"])
def test_the_others_flow_and_nothing_of_it_is_lost(
    kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_PASSWORD", "replicator")
    server: Database = request.getfixturevalue(kind)
    shop: str = request.getfixturevalue("database" if kind == "mysql" else "mariadb_database")
    file, offset, *_ = server.execute("SHOW MASTER STATUS" if kind == "mariadb" else "SHOW BINARY LOG STATUS")[0]
    for table in ("ill", "well"):
        server.execute(f"CREATE TABLE {shop}.{table} (id INT PRIMARY KEY)")

    def insert(number: int) -> None:
        for table in ("ill", "well"):
            server.execute(f"INSERT INTO {shop}.{table} VALUES ({number})")

    task = Task(server, "copy", [f"{shop}.*"], Position(file, offset), None)
    insert(1)
    task.run()
    insert(2)
    task.run(f"{shop}.ill")
    insert(3)
    task.run(f"{shop}.ill")
    assert task.rows("well") == [1, 2, 3]
    assert task.rows("ill") == [1]
    insert(4)
    last = task.store.load()
    assert last is not None and last.quarantined[0].until is None
    task.run()
    insert(5)
    task.run()
    assert (task.rows("well"), task.rows("ill")) == ([1, 2, 3, 4, 5], [1, 4, 5])
    last = task.store.load()
    assert last is not None
    (mark,) = last.quarantined
    assert mark.until is not None
    replay = Task(server, "copy.replay", [f"{shop}.ill"], mark.since, mark.until)
    replay.run()
    assert (replay.rows("ill"), replay.rows("well")) == ([2, 3], [])
