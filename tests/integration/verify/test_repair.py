"""`verify --repair`: rows of the target become those of the source, while the task runs and writers write."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pymysql
import pytest
from click.testing import CliRunner, Result

from dev.servers import Database
from replicator.assembly.verification import open_verification
from replicator.cli.main import main
from replicator.cli.verify_output import NoLine
from replicator.config.load import to_data
from replicator.config.task import TaskConfig
from replicator.coordination.tasks.orders import OrdersStore
from replicator.errors import ProcessError, SinkUnavailable
from replicator.model.quarantine import TaskOrders
from replicator.verify.compare import Difference
from replicator.verify.report import TableResult
from replicator.verify.verifier import Options
from tests.support.api import TOKEN, World, memory_worlds
from tests.support.replicating import replicating
from tests.support.verified import Pair, pair, summary, verify
from tests.support.waiting import eventually

pytestmark = [pytest.mark.timeout(60)]


@pytest.fixture(params=["mysql-mariadb", "mariadb-mysql", "mysql-mysql", "mariadb-mariadb"])
def two(request: pytest.FixtureRequest) -> Iterator[Pair]:
    source, target = str(request.param).split("-")
    server: Database = request.getfixturevalue(source)
    other = request.getfixturevalue(target) if target != source else request.getfixturevalue(f"make_{target}")()
    with pair(server, other) as made:
        yield made


@pytest.fixture(autouse=True)
def _no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Database, "replicator", ("root", ""))


def config(two: Pair, **more: Any) -> TaskConfig:
    return two.config(sink={"user": "root", "position_database": two.other}, **more)


def repair(
    task: TaskConfig,
    *patterns: str,
    dry_run: bool = False,
    uid: str = "",
    options: Options = Options(),  # noqa: B008
) -> dict[str, TableResult]:
    with open_verification(task, patterns) as found:
        mending = found.repair(uid, lambda table: None, dry_run=dry_run)
        results = found.verifier(options, 20, None, NoLine(), mending).run(found.tables)
    return {each.table.partition(".")[2]: each for each in results}


@contextmanager
def changed_behind(two: Pair) -> Iterator[pymysql.Connection]:
    """A connection to the target whose changes are not in its log."""
    connection = two.target.connect(database=two.other)
    with connection, connection.cursor() as cursor:
        cursor.execute("SET SESSION sql_log_bin = 0, foreign_key_checks = 0")
        yield connection


def spoil(two: Pair, *statements: str) -> None:
    with changed_behind(two) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        connection.commit()


def test_missing_extra_and_different_rows(two: Pair) -> None:
    two.here(
        "CREATE TABLE t (id INT PRIMARY KEY, v DECIMAL(8,2), s VARCHAR(40), u INT UNIQUE, b BLOB)",
        "CREATE TABLE pair (a VARCHAR(20) CHARACTER SET latin1, n BIGINT UNSIGNED, x DOUBLE, PRIMARY KEY (n, a))",
        "CREATE TABLE clean (id INT PRIMARY KEY)",
    )
    task = config(two)
    with replicating(two.config(sink={"user": "root", "position_database": two.other, "create_tables": True})):
        two.here(
            "INSERT INTO t VALUES (1,1.5,'a',1,NULL),(2,2.5,'b',2,X'00ff'),(3,3.5,NULL,3,''),(4,4,'d',4,'d')",
            "INSERT INTO pair VALUES ('a',18446744073709551615,0.1),('B',2,1e300),('é',3,NULL)",
            "INSERT INTO clean VALUES (1)",
        )
        assert verify(task)["t"].result == "equal"
        spoil(
            two,
            "DELETE FROM t WHERE id = 1",
            "UPDATE t SET v = 9, s = 'x', b = 'y' WHERE id = 2",
            "INSERT INTO t VALUES (7,7,'seven',1,NULL)",  # has the unique value of the missing row
            "DELETE FROM pair WHERE n = 3",
            "UPDATE pair SET x = 5 WHERE n = 2",
            "INSERT INTO pair VALUES ('zz', 9, 9)",
        )
        tried = repair(task, dry_run=True)
        assert (summary(tried["t"]), tried["t"].written, tried["t"].repaired) == (("differs", 1, 1, 1), 3, 0)
        assert summary(verify(task)["t"]) == ("differs", 1, 1, 1)
        done = repair(task)
        assert [(one.action, one.key) for one in sorted(done["t"].repairs, key=lambda one: one.key["id"])] == [
            ("insert", {"id": "1"}), ("update", {"id": "2"}), ("delete", {"id": "7"}),
        ], done["t"].note  # fmt: skip
        assert {name: (one.result, one.repaired) for name, one in done.items()} == {
            "t": ("equal", 3), "pair": ("equal", 3), "clean": ("equal", 0),
        }  # fmt: skip
        assert all(one.result == "equal" for one in verify(task).values())
        two.here("UPDATE t SET v = v + 1", "DELETE FROM pair", "UPDATE t SET id = id + 100")  # and the task goes on
        assert all(one.result == "equal" for one in verify(task).values())


@contextmanager
def toggling(two: Pair, rows: int) -> Iterator[list[int]]:
    """Writers that insert, delete and update the same few rows all the time, in transactions of several changes."""
    stop, count = threading.Event(), [0]

    def write(number: int) -> None:
        chance = random.Random(number)
        with two.source.connect(database=two.database) as connection, connection.cursor() as cursor:
            while not stop.is_set():
                try:
                    cursor.execute("BEGIN")
                    for _ in range(chance.randint(1, 4)):
                        row = chance.randrange(rows)
                        kind = chance.random()
                        if kind < 0.4:
                            cursor.execute(f"INSERT IGNORE INTO hot VALUES ({row}, {chance.randint(0, 9)})")
                        elif kind < 0.7:
                            cursor.execute(f"DELETE FROM hot WHERE id = {row}")
                        else:
                            cursor.execute(f"UPDATE hot SET v = v + 1 WHERE id = {row}")
                    cursor.execute("COMMIT")
                except pymysql.err.OperationalError as error:
                    if error.args[0] not in (1213, 1205):
                        raise
                count[0] += 1
                time.sleep(0.0005)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    try:
        yield count
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@pytest.mark.timeout(240)
def test_rows_that_change_meanwhile_are_left_to_the_task(two: Pair) -> None:
    """The repair is given rows that do not differ: whatever it wrote too early would stop the task."""
    rows = 60
    two.both("CREATE TABLE hot (id INT PRIMARY KEY, v INT)", "INSERT INTO hot VALUES (1000, 1), (1001, 1)")
    task = config(two)
    key = [n.to_bytes(8, "little") for n in (*range(rows), 1000, 1001, 1002)]
    suspects = [Difference((each,), None, None) for each in key]
    written = 0
    with replicating(task), toggling(two, rows) as count, open_verification(task, ()) as found:
        eventually(lambda: count[0] > 50)
        mending = found.repair("", lambda table: None, dry_run=False)
        (wanted,) = found.tables
        pair = found.pair(wanted)
        assert pair is not None
        for number in range(3):
            spoil(
                two, f"UPDATE hot SET v = {number} + 50 WHERE id IN (1000, 1001)", "REPLACE INTO hot VALUES (1002, 5)"
            )
            done = mending(wanted.table, pair, suspects)
            written += len(done.done)
    assert written >= 3 * 3
    with replicating(task):
        assert verify(task)["hot"].result == "equal"
    assert count[0] > 200


@pytest.fixture
def same(mysql: Database) -> Iterator[Pair]:
    with pair(mysql, mysql) as made:
        yield made


def test_what_is_refused(same: Pair) -> None:
    same.both(
        "CREATE TABLE t (id INT PRIMARY KEY, u INT, UNIQUE (u))",
        "INSERT INTO t VALUES (1,1),(2,2),(3,3)",
        "CREATE TABLE bare (v INT)",
        "INSERT INTO bare VALUES (1)",
    )
    task = config(same)
    same.there("DELETE FROM t WHERE id < 3", "INSERT INTO bare VALUES (2)")
    with pytest.raises(ProcessError) as none:
        repair(task)
    assert none.value.code == "E5041"  # the task has never run
    with replicating(task):
        same.here("UPDATE t SET u = 30 WHERE id = 3")
        eventually(lambda: verify(task)["t"].missing == 2)
        few = repair(task, options=Options(max_repairs=1))
        assert "E5043" in few["t"].note and few["t"].written == 0 and few["t"].result == "differs"
        with pytest.raises(ProcessError) as other:
            repair(task, uid="another")
        assert other.value.code == "E5041"
        done = repair(task)
        assert (done["t"].result, done["t"].repaired) == ("equal", 2)
        assert (done["bare"].result, done["bare"].repaired) == ("differs", 0) and "E5042" in done["bare"].note


def test_a_row_that_the_target_refuses_is_reported(same: Pair) -> None:
    same.both("CREATE TABLE t (id INT PRIMARY KEY, u INT)", "INSERT INTO t VALUES (1,1),(2,2),(3,3),(4,4)")
    same.there("DELETE FROM t WHERE id IN (1, 2, 4)", "ALTER TABLE t ADD UNIQUE (u)", "UPDATE t SET u = 2 WHERE id = 3")
    same.here("UPDATE t SET u = 2 WHERE id = 3")
    task = config(same)
    with replicating(task):
        same.here("INSERT INTO t VALUES (9, 9)")
        eventually(lambda: verify(task)["t"].missing == 3)
        found = repair(task)["t"]
    assert (found.result, found.repaired, found.written) == ("differs", 2, 2)
    assert "not repaired: E3" in found.note and "Duplicate" in found.note


def test_masks_filters_renames_and_columns_of_the_target(same: Pair) -> None:
    same.here("CREATE TABLE t (id INT PRIMARY KEY, mail VARCHAR(60), v INT, secret INT)")
    same.there("CREATE TABLE moved (id INT PRIMARY KEY, mail VARCHAR(63), value INT, note VARCHAR(9) DEFAULT 'none')")
    transforms = {
        "rename": [{"tables": [f"{same.database}.t"], "table": "moved", "columns": {"v": "value"}}],
        "columns": [{"tables": [f"{same.database}.t"], "exclude": ["secret"]}],
        "mask": [{"tables": [f"{same.database}.t"], "columns": ["mail"], "fixed": "x"}],
        "filter": [{"tables": [f"{same.database}.t"], "where": "v < 100"}],
    }
    task = config(same, transforms=transforms)
    with replicating(task):
        same.here("INSERT INTO t VALUES (1,'a@b.c',1,7),(2,'d@e.f',2,7),(3,'x@y.z',500,7)")
        eventually(lambda: verify(task)["t"].result == "equal")
        same.there("UPDATE moved SET note = 'kept'", "UPDATE moved SET value = 9 WHERE id = 1")
        same.there("DELETE FROM moved WHERE id = 2", "INSERT INTO moved VALUES (3, 'x', 500, 'extra')")
        found = repair(task)["t"]
    assert (found.result, found.repaired, found.different, found.missing, found.extra) == ("equal", 3, 1, 1, 1), found
    rows = same.target.execute(f"SELECT * FROM {same.other}.moved ORDER BY id")
    assert [tuple(row) for row in rows] == [(1, "x", 1, "kept"), (2, "x", 2, "none")]


def test_the_position_row_is_released_by_a_repair_that_hangs(same: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replicator.sink.mysql.fenced_repair.IDLE_S", 1)
    same.both("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    same.there("DELETE FROM t")
    task, waited = config(same), threading.Event()

    def hang(table: str) -> None:
        same.here("INSERT INTO t VALUES (2)")
        eventually(lambda: same.target.execute(f"SELECT 1 FROM {same.other}.t WHERE id = 2"))
        waited.set()

    with replicating(task):
        same.here("CREATE TABLE other (id INT PRIMARY KEY)")
        eventually(lambda: verify(task)["t"].missing == 1)
        with open_verification(task, (f"{same.database}.t",)) as found:
            (wanted,) = found.tables
            both, mending = found.pair(wanted), found.repair("", hang, dry_run=False)
            assert both is not None
            with pytest.raises(SinkUnavailable):
                mending(wanted.table, both, [Difference(((1).to_bytes(8, "little"),), None, None)])
        assert waited.is_set()


def test_rows_of_a_target_with_wider_columns_in_another_order(same: Pair) -> None:
    same.here("CREATE TABLE t (id INT PRIMARY KEY, v SMALLINT, s VARCHAR(20))")
    same.there("CREATE TABLE t (s VARCHAR(300), v BIGINT, id BIGINT PRIMARY KEY)")
    task = config(same)
    with replicating(task):
        same.here("INSERT INTO t VALUES (1,-1,'a'),(2,2,'b'),(3,3,NULL)")
        eventually(lambda: len(same.target.execute(f"SELECT id FROM {same.other}.t")) == 3)
        same.there(
            "UPDATE t SET s = 'other' WHERE id = 1", "DELETE FROM t WHERE id = 3", "INSERT INTO t VALUES ('x',7,7)"
        )
        repair(task)
    rows = same.target.execute(f"SELECT id, v, s FROM {same.other}.t ORDER BY id")
    assert [tuple(row) for row in rows] == [(1, -1, "a"), (2, 2, "b"), (3, 3, None)]


def test_a_task_of_a_server(same: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """`verify NAME`: the result is kept, a table in quarantine is left alone, and so is a task that was changed."""
    same.both("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1),(2)")
    task = config(same)

    def called(*arguments: str) -> Result:
        return CliRunner().invoke(main, ["verify", task.name, *arguments])

    with memory_worlds() as make:
        world = make()
        monkeypatch.setenv("REPLICATOR_SERVER", world.bus.url)
        monkeypatch.setenv("REPLICATOR_TOKEN", TOKEN)
        assert world.http.post("/tasks", content=json.dumps(to_data(task))).status_code == 201
        with replicating(task):  # of another incarnation
            same.here("INSERT INTO t VALUES (3)")
            eventually(lambda: called().exit_code == 0)
            same.there("DELETE FROM t WHERE id = 1")
            assert called().exit_code == 1
            kept = world.http.get(f"/tasks/{task.name}").json()["verification"]
            assert (kept["result"], kept["tables"][0]["missing"], kept["equal_ms"] > 0) == ("differs", 1, True)
            other = called("--repair")
            assert other.exit_code == 2 and "E5041" in other.output, other.output
        same.target.execute(f"DROP TABLE {same.other}.replicator_position")
        same.both("DELETE FROM t")
        repair_named(same, task, world, called)


def repair_named(same: Pair, task: TaskConfig, world: World, called: Callable[..., Result]) -> None:
    uid = world.http.get(f"/tasks/{task.name}").json()["uid"]
    with replicating(task, uid=uid):
        same.here("INSERT INTO t VALUES (1), (2)")
        eventually(lambda: called().exit_code == 0)
        same.there("DELETE FROM t WHERE id = 1")
        before = OrdersStore(world.bus.coordinator, world.bus.layout)
        before.write(task.name, TaskOrders({f"{same.database}.t": 5}), -1)
        ill = called("--repair")
        assert ill.exit_code == 1 and "E5042" in ill.output and "quarantine" in ill.output, ill.output
        before.write(task.name, TaskOrders(), 0)
        done = called("--repair")
        assert done.exit_code == 0 and "1 of 1 repaired" in done.output, done.output
        kept = world.http.get(f"/tasks/{task.name}").json()["verification"]
        assert (kept["result"], kept["tables"][0]["repaired"]) == ("equal", 1)
        both = config(same, source={"skip_replicated": "all"})
        world.http.put(f"/tasks/{task.name}", content=json.dumps(to_data(both)))
        refused = called("--repair")
        assert refused.exit_code == 2 and "skip_replicated" in refused.output
