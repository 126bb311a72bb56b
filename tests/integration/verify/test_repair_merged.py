"""`verify --repair` of tables that are merged at the target: only rows of the task's own tables are written."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from dev.servers import Database
from replicator.assembly.verification import open_verification
from replicator.cli.verify_output import NoLine
from replicator.config.task import TaskConfig
from replicator.verify.compare import Difference
from replicator.verify.report import TableResult
from replicator.verify.verifier import Options
from tests.servers import new_database
from tests.support.replicating import replicating
from tests.support.verified import Pair, pair, summary, verify
from tests.support.waiting import eventually

pytestmark = [pytest.mark.timeout(60)]

COLUMNS = "id INT NOT NULL, name VARCHAR(20), email VARCHAR(20)"
SHARD = "shard VARCHAR(63) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL"


@pytest.fixture(params=["mysql-mariadb", "mariadb-mysql"])
def two(request: pytest.FixtureRequest) -> Iterator[Pair]:
    source, target = str(request.param).split("-")
    with pair(request.getfixturevalue(source), request.getfixturevalue(target)) as made:
        yield made


@pytest.fixture
def same(mysql: Database) -> Iterator[Pair]:
    with pair(mysql, mysql) as made:
        yield made


@pytest.fixture(autouse=True)
def _no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Database, "replicator", ("root", ""))


def by_column(two: Pair, **sink: Any) -> TaskConfig:
    """Tables item_00, item_01, ... with their number in a column of the key."""
    add = {"match": rf"{two.database}\.item_(\d+)", "columns": {"shard": "s$1"}, "key": True}
    return merged(two, {"tables": [f"{two.database}.item_*"], "table": "item"}, [add], **sink)


def by_keys(two: Pair, name: str = "copy") -> TaskConfig:
    rename = {"tables": [f"{two.database}.item_*"], "table": "item", "keys": "disjoint"}
    return merged(two, rename, [], name=name)


def merged(two: Pair, rename: dict[str, Any], add: list[dict[str, Any]], name: str = "copy", **sink: Any) -> TaskConfig:
    transforms = {"rename": [rename]} | ({"add": add} if add else {})
    return two.config(name=name, transforms=transforms, sink={"user": "root", "position_database": two.other, **sink})


def verified(task: TaskConfig, *, repair: bool = True) -> dict[str, TableResult]:
    with open_verification(task, ()) as found:
        mending = found.repair("", lambda table: None, dry_run=False) if repair else None
        results = found.verifier(Options(), 20, None, NoLine(), mending).run(found.tables)
    return {each.table.partition(".")[2]: each for each in results}


def rows(two: Pair, where: str = "TRUE") -> list[Any]:
    return [tuple(row) for row in two.target.execute(f"SELECT * FROM {two.other}.item WHERE {where} ORDER BY id")]


@pytest.mark.parametrize("apply", ["binlog", "sql"])
def test_rows_of_one_table_with_the_keys_of_another(two: Pair, apply: str) -> None:
    two.here(*(f"CREATE TABLE item_0{n} ({COLUMNS}, PRIMARY KEY (id), UNIQUE (email))" for n in (0, 1)))
    # The column is not the last one of the key, and not the last one of the table.
    two.there(f"CREATE TABLE item (id INT NOT NULL, {SHARD}, name VARCHAR(20), email VARCHAR(20))")
    two.there("ALTER TABLE item ADD PRIMARY KEY (shard, id), ADD UNIQUE (email, shard)")
    task = by_column(two, apply=apply)
    with replicating(task):
        two.here(*(f"INSERT INTO item_0{n} VALUES (1,'a','1'),(2,'b','2'),(3,'c','3')" for n in (0, 1)))
        eventually(lambda: len(rows(two)) == 6)
        theirs = rows(two, "shard = 's01'")
        two.there(
            "DELETE FROM item WHERE shard = 's00' AND id = 1",
            "UPDATE item SET name = 'wrong' WHERE shard = 's00' AND id = 2",
            "INSERT INTO item VALUES (9, 's00', 'extra', '1')",  # has the unique value of the missing row
            "INSERT INTO item VALUES (7, 's99', 'of no table', NULL)",
        )
        found = verified(task)
        assert (found["item_00"].result, found["item_00"].repaired) == ("equal", 3), found["item_00"]
        assert (found["item_01"].result, found["item_01"].written) == ("equal", 0)
        assert summary(found["item (rows of no table)"]) == ("differs", 0, 1, 0)
        assert rows(two, "shard = 's00'") == [(1, "s00", "a", "1"), (2, "s00", "b", "2"), (3, "s00", "c", "3")]
        assert (rows(two, "shard = 's01'"), rows(two, "id = 7")) == (theirs, [(7, "s99", "of no table", None)])
        two.here("DELETE FROM item_00 WHERE id = 1", "UPDATE item_01 SET id = id + 10")  # and the task goes on
        eventually(lambda: [row[0] for row in rows(two)] == [2, 3, 7, 11, 12, 13])


@contextmanager
def two_tasks(two: Pair, other: Database, name: str) -> Iterator[Pair]:
    """Another source with another task, which writes to the same table of the target."""
    with new_database(other) as database:
        yield Pair(other, database, two.target, two.other)


@contextmanager
def written(two: Pair, table: str, first: int) -> Iterator[list[int]]:
    stop, count = threading.Event(), [0]

    def write() -> None:
        with two.source.connect(database=two.database, autocommit=True) as connection, connection.cursor() as cursor:
            for number in itertools.count():
                if stop.is_set():
                    return
                key = first + number % 20
                cursor.execute(f"REPLACE INTO {table} VALUES ({key}, 'n{number}', 'e{key}')")
                cursor.execute(f"DELETE FROM {table} WHERE id = {first + (number + 7) % 20}")
                count[0] += 1

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield count
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize("how", ["column", "keys"])
def test_repair_of_one_task_while_that_of_another_shard_writes(same: Pair, how: str) -> None:
    """All rows of both shards are suspects: whatever was written of the other one would stop its task."""
    disjoint, apart = how == "keys", 1000 if how == "keys" else 0
    columns = COLUMNS if disjoint else f"{COLUMNS}, {SHARD}"
    same.there(f"CREATE TABLE item ({columns}, PRIMARY KEY (id{'' if disjoint else ', shard'}))")
    with two_tasks(same, same.source, "theirs") as other:
        for each, number in ((same, 0), (other, 1)):
            each.here(f"CREATE TABLE item_0{number} ({COLUMNS}, PRIMARY KEY (id))")
        tasks = [
            by_keys(each, name) if disjoint else by_column(each).model_copy(update={"name": name})
            for each, name in ((same, "ours"), (other, "theirs"))
        ]
        suspects = [n.to_bytes(8, "little") for n in (*range(30), *range(apart, apart + 30))]
        with replicating(tasks[0]), replicating(tasks[1]):
            same.here("INSERT INTO item_00 VALUES (1,'a','1'),(2,'b','2'),(25,'c','3')")
            other.here(f"INSERT INTO item_01 VALUES ({apart + 25}, 'theirs', 'x')")
            with written(other, "item_01", apart) as count, open_verification(tasks[0], ()) as found:
                eventually(lambda: len(rows(same)) > 4)
                mine, mending = found.pair(found.tables[0]), found.repair("", lambda table: None, dry_run=False)
                assert mine is not None
                for number in range(4):
                    part = "TRUE" if disjoint else "shard = 's00'"
                    same.there(
                        f"DELETE FROM item WHERE id = 1 AND {part}",
                        f"UPDATE item SET name = '{number}' WHERE id IN (2, 25) AND {part}",
                    )
                    differences = [Difference((key,), None, None) for key in dict.fromkeys(suspects)]
                    done = mending(found.tables[0].table, mine, differences)
                    assert sorted(action for _, action in done.done) == ["insert", "update", "update"], (done, number)
                at = count[0]
                eventually(lambda: count[0] > at + 20)
            assert count[0] > 50
            theirs = verify(tasks[1], wait=30)
            ours = verified(tasks[0])
        assert ours["item_00"].result == theirs["item_01"].result == "equal", (ours, theirs)
        strange = ours.get("item (rows of no table)")
        if disjoint:
            assert strange is None and "may be of another table" in ours["item_00"].note
        else:
            assert strange is not None and strange.result == "not_compared" and "theirs" in strange.note
    assert [row[:3] for row in rows(same) if row[0] < 30 and row[-1] != "s01"] == [
        (1, "a", "1"), (2, "b", "2"), (25, "c", "3"),
    ]  # fmt: skip


def test_disjoint_keys(two: Pair) -> None:
    """What only the target has stays; so does a row whose key two tables have against the declaration."""
    two.both(
        f"CREATE TABLE item_00 ({COLUMNS}, PRIMARY KEY (id))", f"CREATE TABLE item_01 ({COLUMNS}, PRIMARY KEY (id))"
    )
    two.there("DROP TABLE item_01", "RENAME TABLE item_00 TO item")
    task = by_keys(two)
    with replicating(task):
        two.here(
            "INSERT INTO item_00 VALUES (1,'a',NULL),(3,'c',NULL),(5,'e',NULL),(6,'',NULL)",
            "INSERT INTO item_01 VALUES (2,'b',NULL),(4,'d',NULL),(7,'g',NULL)",
        )
        eventually(lambda: len(rows(two)) == 7)
        before = rows(two)
        two.there("DELETE FROM item WHERE id IN (1, 2)", "UPDATE item SET name = 'wrong' WHERE id IN (4, 5)")
        two.there("INSERT INTO item VALUES (8, 'extra', NULL)")
        found = verified(task, repair=False)
        assert summary(found["item_00"]) == summary(found["item_01"]) == ("differs", 1, 0, 1)
        found = verified(task)
        assert [(found[name].result, found[name].repaired) for name in ("item_00", "item_01")] == [("equal", 2)] * 2
        assert rows(two) == [*before, (8, "extra", None)]
        assert "not deleted" in found["item_00"].note
    with two.source.connect(database=two.database, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("SET SESSION sql_log_bin = 0")
        cursor.execute("INSERT INTO item_01 VALUES (3, 'second', NULL)")
        with replicating(task):
            two.here("INSERT INTO item_00 VALUES (10, 'j', NULL)")
            eventually(lambda: len(rows(two)) == 9)
            found = verified(task)
        assert found["item_00"].result == "equal" and found["item_01"].result == "differs"
        assert "item_00 has a row with this key" in found["item_01"].note, found["item_01"].note
        assert rows(two, "id = 3") == [(3, "c", None)]
