"""A table that goes into quarantine, comes out of it and is replayed: every row once, on a real server."""

from __future__ import annotations

import pytest

from dev.servers.database import Database
from replicator.model.position import Position
from tests.support.in_memory import Task
from tests.support.settings import set_global

pytestmark = pytest.mark.servers


@pytest.mark.parametrize("kind", ["mysql", "mariadb"])
def test_the_others_flow_and_nothing_of_it_is_lost(
    kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_PASSWORD", "replicator")
    server: Database = request.getfixturevalue(kind)
    shop: str = request.getfixturevalue("database" if kind == "mysql" else "mariadb_database")
    file, offset = server.end_of_log()
    for table in ("ill", "well"):
        server.execute(f"CREATE TABLE {shop}.{table} (id INT PRIMARY KEY)")

    def insert(number: int) -> None:
        for table in ("ill", "well"):
            server.execute(f"INSERT INTO {shop}.{table} VALUES ({number})")

    task = Task(server, "copy", [f"{shop}.*"], Position(file, offset), None)
    insert(1)
    task.run()
    insert(2)
    task.put(f"{shop}.ill")
    task.run()
    insert(3)
    task.run()
    assert task.rows("well") == [1, 2, 3]
    assert task.rows("ill") == [1]
    insert(4)
    last = task.store.load()
    assert last is not None and last.quarantined[0].until is None
    task.release(f"{shop}.ill")
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


@pytest.mark.parametrize(("kind", "metadata"), [("mysql", "FULL"), ("mysql", "MINIMAL"), ("mariadb", "FULL")])
def test_what_was_left_out_comes_back_in_order(
    kind: str, metadata: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over a change of the table; its rows are read with the definition of then, also where the log has no names."""
    monkeypatch.setenv("TEST_PASSWORD", "replicator")
    server: Database = request.getfixturevalue(kind)
    shop: str = request.getfixturevalue("database" if kind == "mysql" else "mariadb_database")
    ill = f"{shop}.ill"
    with set_global(server, "binlog_row_metadata", metadata):
        for table in ("ill", "well"):
            server.execute(f"CREATE TABLE {shop}.{table} (id INT PRIMARY KEY)")
        file, offset = server.end_of_log()
        task = Task(server, "copy", [f"{shop}.*"], Position(file, offset), None)
        task.run()
        rows = dict.fromkeys(("ill", "well"), 0)

        def insert() -> None:
            for table in rows:
                rows[table] += 1
                values = f"'x', {rows[table]}" if table == "ill" and rows[table] > 3 else f"{rows[table]}"
                server.execute(f"INSERT INTO {shop}.{table} VALUES ({values})")

        insert()
        task.run()
        insert()
        task.put(ill)
        task.run()
        insert()
        server.execute(f"ALTER TABLE {ill} ADD v VARCHAR(9) FIRST")
        insert()
        task.run()
        assert (task.rows("well"), task.rows("ill")) == ([1, 2, 3, 4], [1])
        insert()
        task.replay(ill)
        task.run()
        assert (task.rows("well"), task.rows("ill")) == ([1, 2, 3, 4, 5], [1, 2, 3, 4, 5])
        last = task.store.load()
        assert last is not None and last.quarantined[0].replayed and last.position.catch_up is None


@pytest.mark.parametrize("kind", ["mysql", "mariadb"])
def test_a_table_that_can_not_be_read_and_is_still_ill(
    kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_PASSWORD", "replicator")
    server: Database = request.getfixturevalue(kind)
    shop: str = request.getfixturevalue("database" if kind == "mysql" else "mariadb_database")
    ill = f"{shop}.ill"
    server.execute(f"CREATE TABLE {ill} (id INT PRIMARY KEY, n INT, m INT)")
    server.execute(f"CREATE TABLE {shop}.well (id INT PRIMARY KEY)")
    file, offset = server.end_of_log()
    task = Task(server, "copy", [f"{shop}.*"], Position(file, offset), None)
    connection = server.connect(database=shop)
    with connection, connection.cursor() as cursor:
        cursor.execute("INSERT INTO ill VALUES (1, 1, 1)")
        cursor.execute("SET SESSION binlog_row_image = 'MINIMAL'")
        cursor.execute("UPDATE ill SET n = 2")
        cursor.execute("INSERT INTO well VALUES (1)")
        cursor.execute("SET SESSION binlog_row_image = 'FULL'")
        cursor.execute("INSERT INTO ill VALUES (2, 2, 2)")
        connection.commit()
    task.run(on_table_error="quarantine")
    assert (task.rows("well"), task.rows("ill")) == ([1], [1])
    mark = task.marks()[-1]
    assert mark.error is not None and (mark.error["code"], mark.table) == ("E2304", ill)
    task.replay(ill)
    task.run(on_table_error="quarantine")
    again = task.marks()[-1]
    assert (again.since, again.until, again.time_ms > mark.time_ms) == (mark.since, None, True)
    task.replay(ill)
    task.run(row_image="accept_partial")
    assert task.marks()[-1].replayed
    assert (task.rows("well"), task.rows("ill")) == ([1], [1, 1, 2])


def test_rows_that_were_prepared_in_quarantine(mysql: Database, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_PASSWORD", "replicator")
    ill = f"{database}.ill"
    for table in ("ill", "well"):
        mysql.execute(f"CREATE TABLE {database}.{table} (id INT PRIMARY KEY)")
    file, offset = mysql.end_of_log()
    task = Task(mysql, "copy", [f"{database}.*"], Position(file, offset), None)
    task.put(ill)
    task.run()
    xid = f"'{database}'"
    for number, table in enumerate(("ill", "well")):
        connection = mysql.connect(database=database)
        with connection, connection.cursor() as cursor:
            for statement in ("XA START", f"INSERT INTO {table} VALUES (1)", "XA END", "XA PREPARE"):
                cursor.execute(statement if "INSERT" in statement else f"{statement} {xid},'{number}'")
    task.run()
    task.replay(ill)
    task.run()
    assert (task.rows("ill"), task.rows("well")) == ([], [])
    for number in range(2):
        mysql.execute(f"XA COMMIT {xid},'{number}'")
    task.run()
    assert (task.rows("ill"), task.rows("well")) == ([1], [1])
