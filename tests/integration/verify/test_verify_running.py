"""`verify` while writers write and a task replicates: late rows are not reported, real differences are."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pymysql
import pytest

from dev.servers import Database
from replicator.checkpoint.memory_store import MemoryStore
from replicator.errors import ProcessError
from replicator.verify.report import TableResult
from replicator.verify.verifier import Options
from tests.support.replicating import replicating
from tests.support.verified import Pair, pair, summary, verify
from tests.support.waiting import eventually

pytestmark = [pytest.mark.timeout(240)]
ROWS = 4_000


@pytest.fixture(params=["mysql-mariadb", "mariadb-mysql", "mysql-mysql"])
def two(request: pytest.FixtureRequest) -> Iterator[Pair]:
    source, target = str(request.param).split("-")
    server: Database = request.getfixturevalue(source)
    other = request.getfixturevalue(target) if target != source else request.getfixturevalue(f"make_{target}")()
    with pair(server, other) as made:
        yield made


def config(two: Pair, **more: Any) -> Any:
    place = {"user": "root", "position_database": two.other}
    return two.config(sink={**place}, **more)


@pytest.fixture(autouse=True)
def _no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Database, "replicator", ("root", ""))


@contextmanager
def writers(two: Pair, tables: str = "ab", seed: int = 1) -> Iterator[list[int]]:
    """Two connections that change random rows, some of them all the time."""
    stop, count = threading.Event(), [0]

    def write(number: int) -> None:
        chance = random.Random(seed * 10 + number)
        connection = two.source.connect(database=two.database)
        with connection, connection.cursor() as cursor:
            while not stop.is_set():
                table, row = chance.choice(tables), chance.choice([chance.randint(1, 2 * ROWS), chance.randint(1, 5)])
                kind = chance.random()
                try:
                    if kind < 0.5:
                        cursor.execute(f"UPDATE {table} SET v = v + 1 WHERE id = {row}")
                    elif kind < 0.75:
                        cursor.execute(f"REPLACE INTO {table} VALUES ({row}, {count[0]}, 'written')")
                    else:
                        cursor.execute(f"DELETE FROM {table} WHERE id = {row}")
                except pymysql.err.OperationalError as error:
                    if error.args[0] not in (1213, 1205):
                        raise
                count[0] += 1
                time.sleep(0.001)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    try:
        yield count
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def prepared(two: Pair) -> None:
    for table in "ab":
        two.both(f"CREATE TABLE {table} (id INT PRIMARY KEY, v BIGINT, t VARCHAR(20))")
        two.both(f"INSERT INTO {table} VALUES " + ",".join(f"({n},{n},'x')" for n in range(1, ROWS + 1)))
    two.both("CREATE TABLE bare (v INT, t VARCHAR(20))", "INSERT INTO bare VALUES (1,'a'),(1,'a'),(2,'b')")


def test_rows_that_are_late_are_not_differences(two: Pair) -> None:
    prepared(two)
    task = config(two)
    with replicating(task):
        eventually(lambda: verify(task, f"{two.database}.a", wait=0.5)["a"].result == "equal")
        with writers(two) as count:
            eventually(lambda: count[0] > 100)
            slow = Options(max_rows_per_s=4_000)  # so that the tables change while they are read
            for _ in range(2):
                found = verify(task, options=slow, wait=60)
                assert {name: (summary(each), each.samples) for name, each in found.items() if each.differences} == {}
        found = verify(task, wait=60)
    assert count[0] > 200
    assert {each.result for each in found.values()} == {"equal"}


def test_real_differences_are_found_while_other_rows_change(two: Pair) -> None:
    prepared(two)
    task = config(two)
    with replicating(task), writers(two, tables="a"):
        two.there(
            "UPDATE b SET t = 'wrong' WHERE id = 7", "DELETE FROM b WHERE id = 8", "INSERT INTO b VALUES (-1, 1, 'x')"
        )
        two.there("UPDATE bare SET t = 'A' WHERE v = 2")
        found = verify(task, wait=60)
    assert summary(found["b"]) == ("differs", 1, 1, 1)
    assert {(each.verdict, each.key["id"], each.columns) for each in found["b"].samples} == {
        ("different", "7", ("t",)), ("missing", "8", ()), ("extra", "-1", ()),
    }  # fmt: skip
    assert summary(found["bare"]) == ("differs", 1, 1, 0)
    assert found["a"].differences == 0


def test_a_target_that_is_behind_gives_no_verdict(two: Pair) -> None:
    prepared(two)
    task, store = config(two), MemoryStore()
    with replicating(task, store):
        two.here("INSERT INTO b VALUES (100000, 1, 'x')")
        eventually(lambda: two.target.execute(f"SELECT 1 FROM {two.other}.b WHERE id = 100000"))
    two.here("INSERT INTO b VALUES (100001, 1, 'x')")
    with pytest.raises(ProcessError) as raised:
        verify(task, wait=0.5)
    assert raised.value.code == "E5031"
    with replicating(task, store):
        results: dict[str, TableResult] = verify(task, wait=30)
    assert {each.result for each in results.values()} == {"equal"}


def test_writes_to_tables_that_are_not_replicated_do_not_prevent_a_verdict(two: Pair) -> None:
    prepared(two)
    task = config(two, source={"tables": [f"{two.database}.b"]})
    with replicating(task):
        two.here("INSERT INTO b VALUES (100000, 1, 'x')")
        eventually(lambda: two.target.execute(f"SELECT 1 FROM {two.other}.b WHERE id = 100000"))
        two.there("DELETE FROM b WHERE id = 8")
        with writers(two, tables="a"):
            found = verify(task, wait=20)
        assert summary(found["b"]) == ("differs", 1, 0, 0)


def test_without_a_position_at_the_target_a_difference_has_to_persist(two: Pair) -> None:
    prepared(two)
    two.there("DELETE FROM b WHERE id = 8")
    with writers(two, tables="a"):
        found = verify(two.config(), f"{two.database}.b", wait=20)
    assert summary(found["b"]) == ("differs", 1, 0, 0)
