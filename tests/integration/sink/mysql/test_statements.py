"""Statements of a source are executed at the target by whole tasks on real servers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import pytest

from dev.servers import Database, MariaDB
from replicator.assembly.pipeline import build_pipeline, build_source
from replicator.checkpoint.history import MemoryHistory
from replicator.checkpoint.memory_store import MemoryStore
from replicator.config.load import parse_task
from replicator.coordination.tasks.skips import skip
from replicator.errors import ReplicatorError, SinkError, SinkUnavailable
from replicator.model.term import Term
from replicator.mysql import multi_statements
from replicator.mysql.multi_statements import Outcome
from replicator.mysql.session import Session
from replicator.pipeline.pipeline import Pipeline
from replicator.sink.mysql import transaction
from tests.servers import new_database
from tests.support.in_memory import Unseen
from tests.support.target import position_rows

pytestmark = [pytest.mark.servers, pytest.mark.timeout(120)]
DIRECTIONS = ["mysql-mysql", "mysql-mariadb", "mariadb-mysql", "mariadb-mariadb"]


class Patient(Unseen):
    """Lets the task try again."""

    def waiting(self, error: ReplicatorError) -> None:
        return


class Copy:
    """A task that copies a database to another one."""

    def __init__(self, source: Database, target: Database, here: str, there: str, place: str) -> None:
        self.source, self.target, self.here, self.there, self.place = source, target, here, there, place
        kind = ["mariadb" if isinstance(server, MariaDB) else "mysql" for server in (source, target)]
        self.data: dict[str, Any] = {
            "name": "copy",
            "source": {
                "type": kind[0],
                "port": source.port,
                "user": "replicator",
                "password": "env:TEST_PASSWORD",
                "tables": [f"{here}.*"],
            },
            "sink": {
                "type": kind[1],
                "port": target.port,
                "user": "root",
                "password": "env:TEST_NONE",
                "position_database": place,
            },
            "transforms": {"rename": [{"tables": [f"{here}.*"], "database": there}]},
        }
        self.store, self.history = MemoryStore(), MemoryHistory()
        self.epoch = 0
        self.executed: list[str] = []

    def pipeline(self) -> Pipeline:
        self.epoch += 1
        term = Term("copy", "u", self.epoch, lambda: float("inf"), host="here")
        return build_pipeline(
            parse_task(self.data), term=term, store=self.store, observer=Patient(), history=self.history
        )

    def begin(self) -> None:
        """The task has a position, and has read the definitions of the source."""
        self.run()
        for statement in ("CREATE TABLE begun (id INT PRIMARY KEY)", "DROP TABLE begun"):
            self.at_source(statement)
            self.run()

    def run(self) -> None:
        """To the end of the log."""
        pipeline = self.pipeline()
        watch = threading.Timer(60, pipeline.drain)
        watch.start()
        try:
            pipeline.run(build_source(parse_task(self.data)).end_position())
        finally:
            late = not watch.is_alive()
            watch.cancel()
        assert not late, "no end"

    def fails(self, code: str) -> ReplicatorError:
        with pytest.raises(ReplicatorError) as failed:
            self.run()
        assert failed.value.code == code, failed.value
        return failed.value

    def at_source(self, *statements: str) -> None:
        self._on(self.source, self.here, statements)

    def at_target(self, *statements: str) -> None:
        self._on(self.target, self.there, statements)

    def both(self, *statements: str) -> None:
        self.at_source(*statements)
        self.at_target(*statements)

    @staticmethod
    def _on(server: Database, database: str, statements: Sequence[str]) -> None:
        connection = server.connect(database=database)
        with connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
        connection.close()

    def rows(self, table: str) -> tuple[list[Any], list[Any]]:
        return (
            self.source.execute(f"SELECT * FROM {self.here}.{table} ORDER BY 1"),
            self.target.execute(f"SELECT * FROM {self.there}.{table} ORDER BY 1"),
        )

    def equal(self, *tables: str) -> None:
        for table in tables:
            ours, theirs = self.rows(table)
            assert ours == theirs

    def tables(self) -> set[str]:
        return {str(name) for (name,) in self.target.execute(f"SHOW TABLES FROM {self.there}")}

    def indexes(self, table: str) -> set[str]:
        return {str(row[2]) for row in self.target.execute(f"SHOW INDEX FROM {self.there}.{table}")}


def made(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, here: str, there: str) -> Iterator[Copy]:
    monkeypatch.setenv("TEST_PASSWORD", "replicator")
    monkeypatch.setenv("TEST_NONE", "")
    source, target = request.getfixturevalue(here), request.getfixturevalue(there)
    with ExitStack() as stack:
        names = [stack.enter_context(_database(server)) for server in (source, target, target)]
        yield Copy(source, target, *names)


def _database(server: Database) -> Any:
    return new_database(server)


@pytest.fixture(params=DIRECTIONS)
def copy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Copy]:
    yield from made(request, monkeypatch, *request.param.split("-"))


@pytest.fixture(params=["mysql", "mariadb"])
def same(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Copy]:
    yield from made(request, monkeypatch, request.param, request.param)


def test_statements_between_rows(copy: Copy) -> None:
    copy.begin()
    copy.at_source(
        "CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(20)) DEFAULT CHARSET=latin1",
        "INSERT INTO item VALUES (1, 'a'), (2, 'b')",
        "ALTER TABLE item ADD COLUMN price DECIMAL(8,2) NOT NULL DEFAULT 1.5 AFTER id, ADD KEY by_price (price)",
        "INSERT INTO item VALUES (3, 9.99, 'c')",
        "CREATE INDEX by_name ON item (name)",
        "ALTER TABLE item CHANGE name title VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        "UPDATE item SET title = 'é', price = 2 WHERE id = 1",
        "CREATE TABLE gone (id INT PRIMARY KEY)",
        "INSERT INTO gone VALUES (1)",
        "DROP TABLE gone",
        "CREATE TABLE log (id INT PRIMARY KEY)",
        "INSERT INTO log VALUES (1)",
        "TRUNCATE TABLE log",
        "INSERT INTO log VALUES (2)",
        "RENAME TABLE log TO events",
        "INSERT INTO events VALUES (3)",
        "DROP INDEX by_price ON item",
        "CREATE TABLE child (id INT PRIMARY KEY, item INT, FOREIGN KEY (item) REFERENCES item (id))",
        "INSERT INTO child VALUES (1, 3)",
    )
    copy.run()
    assert copy.tables() == {"item", "events", "child"}
    copy.equal("item", "events", "child")
    assert copy.indexes("item") == {"PRIMARY", "by_name"}


def test_statements_between_commits_over_several_connections(same: Copy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is executed behind the rows before it, which the server may still write when the statement comes."""
    same.data["sink"] |= {"order": "key", "connections": 3}
    monkeypatch.setattr(transaction, "FEWEST_BYTES", 200)
    values = ", ".join(f"({number})" for number in range(200))
    same.both("CREATE TABLE t (id INT PRIMARY KEY)")
    same.begin()
    for number in range(8):
        same.at_source(
            f"INSERT INTO t (id) VALUES {values}",
            f"ALTER TABLE t ADD c{number} INT DEFAULT {number}",
            f"UPDATE t SET c{number} = id",
            "DELETE FROM t WHERE id % 3 = 0",
            *(["TRUNCATE TABLE t"] if number < 7 else []),
        )
    same.run()
    same.equal("t")
    assert not same.target.execute("XA RECOVER")
    assert any("/" in str(row[0]) for row in position_rows(same.target, same.place)), "branches have rows"


def test_a_column_filled_with_the_time_of_the_statement(same: Copy) -> None:
    """CURRENT_TIMESTAMP of an added column is that of the source, however late the target executes it."""
    same.both("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    same.begin()
    same.at_source(
        "ALTER TABLE t ADD made TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP",
        "ALTER TABLE t ADD fine DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)",
    )
    time.sleep(1.5)
    same.run()
    same.equal("t")


def test_sql_mode_of_the_source(same: Copy) -> None:
    same.begin()
    same.at_source(
        "SET SESSION sql_mode = 'ANSI_QUOTES'",
        """CREATE TABLE "t" (id INT PRIMARY KEY, "select" DATE NOT NULL DEFAULT '0000-00-00')""",
        "INSERT INTO t (id) VALUES (1)",
    )
    same.run()
    assert same.target.execute(f"SELECT COUNT(*) FROM {same.there}.t")[0][0] == 1


def test_create_table_from_rows(copy: Copy) -> None:
    copy.both("CREATE TABLE item (id INT PRIMARY KEY, n INT)", "INSERT INTO item VALUES (1, 1), (2, 2)")
    copy.begin()
    copy.at_source("CREATE TABLE picked (PRIMARY KEY (id)) SELECT id, n FROM item")
    copy.run()
    copy.equal("picked")


def test_stop_and_skip(same: Copy) -> None:
    same.both("CREATE TABLE t (id INT PRIMARY KEY)")
    same.begin()
    same.data["sink"]["ddl"] = "stop"
    same.at_source("INSERT INTO t VALUES (1)", "ALTER TABLE t ADD a INT", "INSERT INTO t VALUES (2, 2)")
    error = same.fails("E3431")
    assert "ALTER TABLE" in error.found and "task skip" in error.fix and error.transaction
    assert same.rows("t")[1] == [(1,)], "everything before is there"
    assert same.fails("E3431").position == error.position
    same.at_target("ALTER TABLE t ADD a INT")
    same.data["sink"]["ddl"] = "ignore"
    same.run()
    same.equal("t")


def test_the_statement_is_skipped_by_an_order(same: Copy) -> None:
    same.both("CREATE TABLE t (id INT PRIMARY KEY)")
    same.begin()
    same.data["sink"]["ddl"] = {"alter_table": "stop"}
    same.at_source("INSERT INTO t VALUES (1)", "ALTER TABLE t ADD a INT", "INSERT INTO t VALUES (2, 2)")
    error = same.fails("E3431")
    same.at_target("ALTER TABLE t ADD a INT")
    move = skip("copy", same.store.load(), error.to_dict(), "", isinstance(same.source, MariaDB))
    same.store.save(move.after)
    same.run()
    same.equal("t")


def test_what_the_target_refuses(copy: Copy) -> None:
    copy.both("CREATE TABLE t (id INT PRIMARY KEY)")
    copy.at_target("ALTER TABLE t ADD a INT")
    copy.begin()
    copy.at_source("ALTER TABLE t ADD a INT", "INSERT INTO t VALUES (1, 1)")
    error = copy.fails("E3432")
    assert "1060" in error.found and "ADD a INT" in error.found
    copy.at_target("ALTER TABLE t DROP COLUMN a")
    copy.run()
    copy.equal("t")


def test_excluded_columns(same: Copy) -> None:
    same.data["transforms"]["columns"] = [{"tables": [f"{same.here}.t"], "exclude": ["pin"]}]
    same.begin()
    same.at_source(
        "CREATE TABLE t (id INT PRIMARY KEY, pin CHAR(4), KEY (pin))",
        "INSERT INTO t VALUES (1, '1234')",
        "ALTER TABLE t MODIFY pin CHAR(8), ADD n INT AFTER pin",
        "INSERT INTO t VALUES (2, '12345678', 5)",
        "ALTER TABLE t ADD KEY (pin)",
    )
    same.run()
    assert same.rows("t")[1] == [(1, None), (2, 5)]


def gh_ost(copy: Copy) -> None:
    copy.at_source(
        "CREATE TABLE _t_gho LIKE t",
        "ALTER TABLE _t_gho ADD note VARCHAR(20) NOT NULL DEFAULT 'n', MODIFY n BIGINT, ADD KEY by_n (n)",
        "INSERT IGNORE INTO _t_gho (id, n) SELECT id, n FROM t",
        "CREATE TABLE _t_del (id INT PRIMARY KEY)",
        "DROP TABLE _t_del",
        "RENAME TABLE t TO _t_del, _t_gho TO t",
        "DROP TABLE _t_del",
        "INSERT INTO t VALUES (9, 10000000000, 'behind')",
    )


@pytest.mark.parametrize("shown", ["hide", "show"])
def test_online_schema_change(copy: Copy, shown: str) -> None:
    copy.data["source"]["online_schema_change"] = shown
    copy.both("CREATE TABLE t (id INT PRIMARY KEY, n INT)", "INSERT INTO t VALUES (1, 1)")
    copy.begin()
    gh_ost(copy)
    copy.run()
    copy.equal("t")
    assert copy.tables() == {"t"}
    assert copy.indexes("t") == {"PRIMARY", "by_n"}


def test_tables_are_created_from_the_definitions_of_the_source(copy: Copy) -> None:
    copy.data["sink"]["create_tables"] = True
    copy.at_source(
        "CREATE TABLE child (id INT PRIMARY KEY, p INT, KEY by_p (p))",
        "CREATE TABLE parent (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20) NOT NULL DEFAULT 'x' COMMENT 'a;b') "
        "AUTO_INCREMENT=500 DEFAULT CHARSET=latin1 COMMENT='it''s'",
        "ALTER TABLE child ADD CONSTRAINT f FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE",
    )
    copy.begin()
    assert copy.tables() == {"parent", "child"}
    copy.at_source(
        "INSERT INTO parent (name) VALUES ('é')",
        "INSERT INTO child VALUES (1, 500)",
        "INSERT INTO child VALUES (2, 500)",
        "INSERT INTO parent (name) VALUES ('b')",
        "DELETE FROM parent WHERE id = 500",
    )
    copy.run()
    copy.equal("parent", "child")
    assert copy.rows("child")[1] == [], "cascaded once"
    text = copy.target.execute(f"SHOW CREATE TABLE {copy.there}.parent")[0][1]
    assert "latin1" in text and "it''s" in text
    assert copy.indexes("child") == {"PRIMARY", "by_p"}


def test_a_database_is_created_and_a_table_that_is_added_later(same: Copy) -> None:
    same.at_source("CREATE TABLE t (id INT PRIMARY KEY)", "CREATE TABLE late (id INT PRIMARY KEY, pin INT)")
    same.target.execute(f"DROP DATABASE {same.there}")
    same.data["source"]["tables"] = [f"{same.here}.*", f"!{same.here}.late"]
    same.data["sink"]["create_tables"] = True
    same.data["transforms"]["columns"] = [{"tables": [f"{same.here}.late"], "exclude": ["pin"]}]
    same.begin()
    assert same.tables() == {"t"}
    same.data["source"]["tables"] = [f"{same.here}.*"]
    same.at_source("INSERT INTO late VALUES (1, 2)")
    same.run()
    assert same.rows("late")[1] == [(1,)]


def test_a_table_that_cannot_be_created(same: Copy) -> None:
    same.data["sink"]["create_tables"] = True
    same.data["transforms"]["mask"] = [{"tables": [f"{same.here}.t"], "columns": ["a"], "fixed": "x"}]
    same.at_source("CREATE TABLE t (id INT PRIMARY KEY, a INT)")
    assert "masked" in same.fails("E3421").what


# Faults


class Broken:
    """Cuts the connection of one statement for the target, the first one or another, before or behind its execution."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, executed: bool, number: int = 1) -> None:
        self.seen: list[bytes] = []
        original = multi_statements.execute

        def execute(session: Session, text: bytes, statements: int, timeout: float) -> Outcome:
            if not text.startswith((b"ALTER", b"CREATE TABLE", b"TRUNCATE", b"RENAME", b"DROP")):
                return original(session, text, statements, timeout)
            self.seen.append(text)
            if len(self.seen) != number:
                return original(session, text, statements, timeout)
            if executed:
                original(session, text, statements, timeout)
            session.close()
            raise SinkUnavailable("E3402", "cut")

        monkeypatch.setattr(multi_statements, "execute", execute)


STATEMENTS = [
    "ALTER TABLE t ADD a INT NOT NULL DEFAULT 4",
    "TRUNCATE TABLE t",
    "RENAME TABLE t TO u",
    "DROP TABLE t",
    "CREATE TABLE v (id INT PRIMARY KEY)",
    "ALTER TABLE t AUTO_INCREMENT = 100",
]


@pytest.mark.parametrize("executed", [True, False], ids=["executed", "not_executed"])
@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_connection_is_cut_in_a_statement(
    same: Copy, monkeypatch: pytest.MonkeyPatch, statement: str, executed: bool
) -> None:
    same.both("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    same.begin()
    same.at_source("INSERT INTO t VALUES (2)", statement)
    broken = Broken(monkeypatch, executed=executed)
    same.run()
    left = {"t", "u", "v"} & same.tables()
    assert left == {str(name) for (name,) in same.source.execute(f"SHOW TABLES FROM {same.here}")}
    same.equal(*left)
    repeatable = statement.startswith("TRUNCATE") or "AUTO_INCREMENT" in statement
    if executed and repeatable and not isinstance(same.target, MariaDB):
        return  # MySQL knows by CREATE_TIME, in whole seconds, that it was executed: it may see it or not
    assert len(broken.seen) == (2 if not executed or repeatable else 1)


@pytest.mark.parametrize("executed", [True, False], ids=["executed", "not_executed"])
def test_a_connection_is_cut_in_the_last_of_many_statements(
    same: Copy, monkeypatch: pytest.MonkeyPatch, executed: bool
) -> None:
    """Those before it are not executed again, however fast they follow each other."""
    same.both("CREATE TABLE t (id INT PRIMARY KEY)")
    same.begin()
    same.at_source(*(f"ALTER TABLE t ADD c{number} INT" for number in range(4)), "INSERT INTO t VALUES (1, 1, 2, 3, 4)")
    broken = Broken(monkeypatch, executed=executed, number=4)
    same.run()
    same.equal("t")
    assert len(broken.seen) == (4 if executed else 5)


def test_sql_mode_of_a_statement_that_was_not_executed(same: Copy, monkeypatch: pytest.MonkeyPatch) -> None:
    """With ANSI_QUOTES the server shows definitions in another form."""
    same.both("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    same.begin()
    same.at_source("SET SESSION sql_mode = 'ANSI_QUOTES'", 'ALTER TABLE "t" ADD KEY "k" (id)')
    Broken(monkeypatch, executed=False)
    same.run()
    assert same.indexes("t") == {"PRIMARY", "k"}


def test_a_later_term_waits_for_the_statement_of_an_earlier_one(same: Copy) -> None:
    """The connection of the former leader is still executing when the next one begins."""
    same.both("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    same.begin()
    same.at_source("ALTER TABLE t ADD a INT NOT NULL DEFAULT 4")
    holder = same.target.connect(database=same.there, autocommit=False)
    holder.cursor().execute("SELECT * FROM t")  # its metadata lock holds the ALTER TABLE up
    errors: list[BaseException] = []

    def lead(pipeline: Pipeline) -> Callable[[], None]:
        def run() -> None:
            try:
                pipeline.run(build_source(parse_task(same.data)).end_position())
            except BaseException as error:
                errors.append(error)

        return run

    first = threading.Thread(target=lead(same.pipeline()))
    first.start()
    _until(lambda: same.target.execute("SELECT 1 FROM information_schema.PROCESSLIST WHERE INFO LIKE 'ALTER TABLE%'"))
    second = threading.Thread(target=lead(same.pipeline()))
    second.start()
    _until(lambda: str(position_rows(same.target, same.place)[0][2]) == str(same.epoch))
    time.sleep(0.5)
    holder.rollback()
    holder.close()
    first.join(30)
    second.join(30)
    assert not second.is_alive()
    assert [error for error in errors if not isinstance(error, ReplicatorError)] == []
    assert len(errors) == 1, "the former leader is fenced"
    same.equal("t")


def _until(condition: Callable[[], object], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_tables_that_look_the_same_are_not_exchanged(same: Copy) -> None:
    same.both("CREATE TABLE a (id INT PRIMARY KEY)", "CREATE TABLE b (id INT PRIMARY KEY)")
    same.data["source"]["tables"] = [f"{same.here}.*"]
    same.begin()
    same.at_source("RENAME TABLE a TO c, b TO a, c TO b")
    with pytest.raises(SinkError, match="exchanges tables"):
        same.run()
