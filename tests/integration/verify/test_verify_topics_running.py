"""`verify` of topics while writers write and the task replicates: late rows are not reported, real differences are."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from dev.servers import Database, Kafka
from tests.servers import new_database
from tests.support.between import Running
from tests.support.verified_topics import PASSWORD, Topics

ROWS = 500


@pytest.fixture(autouse=True)
def _secrets(monkeypatch: pytest.MonkeyPatch, mysql: Database) -> None:
    monkeypatch.setenv(PASSWORD, mysql.replicator[1])


@contextmanager
def writer(task: Topics) -> Iterator[None]:
    """Changes random rows of the first half of the table, and their keys."""
    stop, chance = threading.Event(), random.Random(5)

    def write() -> None:
        connection = task.server.connect(database=task.database)
        with connection, connection.cursor() as cursor:
            while not stop.is_set():
                one, other = chance.randint(1, ROWS), chance.randint(1, ROWS)
                cursor.execute(
                    chance.choice(
                        [
                            f"UPDATE t SET v = v + 1 WHERE id = {one}",
                            f"REPLACE INTO t VALUES ({one}, {other})",
                            f"DELETE FROM t WHERE id = {one}",
                            f"UPDATE IGNORE t SET id = {other} WHERE id = {one}",
                        ]
                    )
                )
                time.sleep(0.001)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize(
    ("form", "server", "delivery"), [("debezium", "mysql", "exactly_once"), ("maxwell", "mariadb", "at_least_once")]
)
def test_rows_that_are_written_meanwhile(
    request: pytest.FixtureRequest, kafka: Kafka, form: str, server: str, delivery: str
) -> None:
    database_server: Database = request.getfixturevalue(server)
    with new_database(database_server) as database:
        sink: dict[str, Any] = {"format": form, "delivery": delivery}
        task = Topics(database_server, kafka, database, sink=sink, source={"snapshot": "initial"})
        task.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
        task.run("INSERT INTO t VALUES " + ",".join(f"({n},{n})" for n in range(1, 2 * ROWS)))
        task.deliver()
        task.run("UPDATE t SET v = -1 WHERE id = 700", "DELETE FROM t WHERE id = 800", logged=False)
        with Running(task.pipeline()), writer(task):
            found = task.verify()["t"]
    assert (found.missing, found.extra, found.different, found.unrecorded) == (0, 1, 1, 0), found
    assert {sample.key["id"] for sample in found.samples} == {"700", "800"}
