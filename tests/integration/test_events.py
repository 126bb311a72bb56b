"""What a server may change under a running task: checksums, the tags of GTIDs."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from dev.servers import MySQL
from dev.servers.database import Database
from replicator.model.position import Position
from tests.support.in_memory import Task
from tests.support.settings import set_global

pytestmark = pytest.mark.servers


@pytest.fixture(params=["mysql", "mariadb"])
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Database:
    found: Database = request.getfixturevalue(request.param)
    monkeypatch.setenv("TEST_PASSWORD", found.replicator[1])
    return found


@pytest.fixture
def shop(server: Database) -> Iterator[str]:
    name = f"e_{uuid.uuid4().hex[:8]}"
    server.execute(f"CREATE DATABASE {name}")
    server.execute(f"CREATE TABLE {name}.t (id INT PRIMARY KEY)")
    yield name
    server.execute(f"DROP DATABASE {name}")


def begun(server: Database, shop: str) -> Task:
    return Task(server, "events", [f"{shop}.*"], Position(*server.end_of_log()), None)


def test_checksums_come_and_go(server: Database, shop: str) -> None:
    """In one stream, and for one that begins in a file without."""
    task = begun(server, shop)
    server.execute(f"INSERT INTO {shop}.t VALUES (1)")
    with set_global(server, "binlog_checksum", "NONE"):
        server.execute(f"INSERT INTO {shop}.t VALUES (2)")
        task.run()
        server.execute(f"INSERT INTO {shop}.t VALUES (3)")
        task.run()
    server.execute(f"INSERT INTO {shop}.t VALUES (4)")
    task.run()
    assert task.rows("t") == [1, 2, 3, 4]


def test_tagged_gtids(mysql: MySQL, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_PASSWORD", mysql.replicator[1])
    shop = f"e_{uuid.uuid4().hex[:8]}"
    mysql.execute(f"CREATE DATABASE {shop}")
    mysql.execute(f"CREATE TABLE {shop}.t (id INT PRIMARY KEY)")
    task = begun(mysql, shop)
    connection = mysql.connect(database=shop)
    for number, tag in enumerate(("AUTOMATIC:blue", "AUTOMATIC", "AUTOMATIC:green", "AUTOMATIC:blue")):
        connection.cursor().execute(f"SET SESSION gtid_next = '{tag}'")
        connection.cursor().execute(f"INSERT INTO t VALUES ({number})")
        connection.cursor().execute("COMMIT")
        if number == 1:
            task.run()
    connection.cursor().execute("SET SESSION gtid_next = 'AUTOMATIC'")
    connection.close()
    task.run()
    assert task.rows("t") == [0, 1, 2, 3]
    last = task.store.load()
    assert last is not None and ":blue:1-2" in last.position.gtid and ":green:1" in last.position.gtid
    positions = [dict(record.headers)["position"] for record in task.broker.records if record.topic.endswith(".t")]
    assert [b":blue:" in position for position in positions] == [True, False, False, True]
    mysql.execute(f"DROP DATABASE {shop}")
