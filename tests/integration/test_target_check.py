"""`replicator check` for targets on real servers, in all directions: findings, and that their statements mend them."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dev.servers.database import Database, MariaDB
from replicator.assembly.target_checks import check_target
from replicator.config.mysql_sink import MySQLSink
from replicator.config.task import TaskConfig
from replicator.model.finding import Finding
from replicator.sink.mysql.checks import settings
from tests.support.settings import set_global
from tests.support.verified import side

KINDS = ["mysql", "mariadb"]


def kind(server: Database) -> str:
    return "mariadb" if isinstance(server, MariaDB) else "mysql"


@pytest.fixture(params=KINDS)
def target(request: pytest.FixtureRequest) -> Database:
    return request.getfixturevalue(request.param)


@pytest.fixture(params=KINDS)
def source(request: pytest.FixtureRequest) -> Database:
    return request.getfixturevalue(request.param)


class Pair:
    """Databases of one test: `a_...` at the source goes to `b_...` at the target."""

    def __init__(self, source: Database, target: Database) -> None:
        mark = uuid.uuid4().hex[:8]
        self.source, self.target = source, target
        self.at_source, self.at_target = f"a_{mark}", f"b_{mark}"
        self.user, self.positions = f"u_{mark}", f"p_{mark}"
        source.execute(f"CREATE DATABASE {self.at_source} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
        target.execute(f"CREATE DATABASE {self.at_target} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")

    def tables(self, name: str, source: str, target: str | None = None) -> None:
        self.source.execute(f"CREATE TABLE {self.at_source}.{name} {source}")
        self.target.execute(f"CREATE TABLE {self.at_target}.{name} {target or source}")

    def config(self, **changes: Any) -> TaskConfig:
        source, target = ("replicator", "replicator"), ("root", "")
        user, password = changes.pop("account", target)
        transforms = changes.pop("transforms", {})
        rename = [{"tables": [f"{self.at_source}.*"], "database": self.at_target}]
        return TaskConfig.model_validate(
            {
                "name": "t",
                "source": {
                    "type": kind(self.source),
                    "port": self.source.port,
                    "user": source[0],
                    "password": "env:REPL_BENCH_PASSWORD",
                    "tables": [f"{self.at_source}.*"],
                },
                "sink": {
                    "type": kind(self.target),
                    "port": self.target.port,
                    "user": user,
                    "password": f"env:{password}" if password else "env:REPL_EMPTY",
                    "position_database": self.positions,
                }
                | changes,
                "transforms": {"rename": rename} | transforms,
            }
        )

    def findings(self, **changes: Any) -> list[Finding]:
        config = self.config(**changes)
        assert isinstance(config.sink, MySQLSink)
        rows = self.source.execute(
            "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s", (self.at_source,)
        )
        found = check_target(config, config.sink, [(self.at_source, str(name)) for (name,) in rows])
        assert all(finding.fix for finding in found if finding.severity != "ok"), found
        return found

    def found(self, id_: str, **changes: Any) -> list[Finding]:
        return [finding for finding in self.findings(**changes) if finding.id == f"sink.{id_}"]

    def one(self, id_: str, **changes: Any) -> Finding:
        (finding,) = self.found(id_, **changes)
        return finding


def paired(monkeypatch: pytest.MonkeyPatch, source: Database, target: Database) -> Iterator[Pair]:
    monkeypatch.setenv("REPL_EMPTY", "")
    made = Pair(source, target)
    yield made
    source.execute(f"DROP DATABASE IF EXISTS {made.at_source}")
    target.execute(f"DROP DATABASE IF EXISTS {made.at_target}")
    target.execute(f"DROP USER IF EXISTS '{made.user}'@'%'")


@pytest.fixture
def pair(monkeypatch: pytest.MonkeyPatch, source: Database, target: Database) -> Iterator[Pair]:
    """All four directions."""
    yield from paired(monkeypatch, source, target)


@pytest.fixture
def same(monkeypatch: pytest.MonkeyPatch, target: Database) -> Iterator[Pair]:
    """From a server to itself."""
    yield from paired(monkeypatch, target, target)


ITEM = "(id INT PRIMARY KEY, name VARCHAR(20) NOT NULL, price DECIMAL(10,2), seen DATETIME(3), UNIQUE (name))"


def test_equal_tables(pair: Pair) -> None:
    pair.tables("item", ITEM)
    end = pair.target.end_of_log()
    found = pair.findings(ddl="apply")
    assert pair.target.end_of_log() == end, "a check changes nothing"
    assert [finding for finding in found if finding.severity == "fail"] == []
    assert {finding.id for finding in found} >= {
        "sink.reachable", "sink.version", "sink.read_only", "sink.durability", "sink.grant.binlog",
        "sink.grant.position_table", "sink.grant.tables", "sink.grant.ddl", "sink.tables", "sink.columns",
        "sink.triggers", "sink.foreign_keys", "sink.max_allowed_packet", "sink.events", "sink.log_bin",
    }  # fmt: skip


TYPES = [
    ("INT", "BIGINT", ""),
    ("BIGINT", "INT", "fail"),
    ("INT", "INT UNSIGNED", "fail"),
    ("VARCHAR(20)", "VARCHAR(10)", "fail"),
    ("VARCHAR(20)", "VARCHAR(30)", ""),
    ("VARCHAR(20)", "VARCHAR(300)", ""),
    ("VARCHAR(20)", "CHAR(20)", "fail"),
    ("VARCHAR(20) CHARACTER SET latin1", "VARCHAR(20) CHARACTER SET utf8mb4", ""),
    ("VARCHAR(20) CHARACTER SET utf8mb4", "VARCHAR(20) CHARACTER SET latin1", "fail"),
    ("DECIMAL(10,2)", "DECIMAL(10,3)", "fail"),
    ("DECIMAL(10,2)", "DECIMAL(12,2)", ""),
    ("BIT(12)", "BIT(4)", "fail"),
    ("DATETIME(3)", "DATETIME", "fail"),
    ("TIMESTAMP(6)", "DATETIME(6)", "fail"),
    ("ENUM('a','b')", "ENUM('b','a')", "fail"),
    ("ENUM('a','b')", "ENUM('a','b','c')", ""),
    ("ENUM('a','b''c')", "ENUM('a','b''c')", ""),
    ("SET('a','b')", "SET('a')", "fail"),
    ("MEDIUMTEXT", "TEXT", "fail"),
    ("BLOB", "LONGBLOB", ""),
    ("FLOAT", "DOUBLE", ""),
    ("BINARY(16)", "VARBINARY(16)", "fail"),
    ("CHAR(4)", "CHAR(4)", ""),
    ("POINT", "GEOMETRY", ""),
    ("DATE", "INT", "fail"),
]


def test_types_that_do_not_fit(pair: Pair) -> None:
    left = ", ".join(f"c{number} {here} NULL" for number, (here, _, _) in enumerate(TYPES))
    right = ", ".join(f"c{number} {there} NULL" for number, (_, there, _) in enumerate(TYPES))
    pair.tables("t", f"(id INT PRIMARY KEY, {left})", f"(id INT PRIMARY KEY, {right})")
    found = {f.found.split()[1]: f.severity for f in pair.found("columns")}
    assert found == {f"c{number}": severity for number, (_, _, severity) in enumerate(TYPES) if severity}


def test_json_of_mysql_and_mariadb(pair: Pair) -> None:
    pair.tables("t", "(id INT PRIMARY KEY, doc JSON)")
    severities = [finding.severity for finding in pair.found("columns") if "doc" in finding.found]
    assert severities == (["fail"] if kind(pair.source) != kind(pair.target) else [])


def test_missing_tables_and_columns(pair: Pair) -> None:
    pair.tables("item", ITEM, "(id INT PRIMARY KEY, name VARCHAR(20) NOT NULL, extra INT NOT NULL, UNIQUE (name))")
    pair.source.execute(f"CREATE TABLE {pair.at_source}.lost (id INT PRIMARY KEY)")
    tables = pair.one("tables")
    assert (tables.severity, tables.found) == ("fail", f"missing: {pair.at_target}.lost")
    found = "\n".join(finding.found for finding in pair.found("columns"))
    assert "no column price" in found and "no column seen" in found and "no column extra" in found
    transforms = {"columns": [{"tables": [f"{pair.at_source}.item"], "exclude": ["price", "seen"]}]}
    found = "\n".join(finding.found for finding in pair.found("columns", transforms=transforms))
    assert "price" not in found and "extra" in found


def test_tables_that_the_task_creates(pair: Pair) -> None:
    pair.source.execute(f"CREATE TABLE {pair.at_source}.t (id INT PRIMARY KEY)")
    assert pair.one("tables").severity == "fail"
    found = pair.one("tables", create_tables=True)
    assert found.severity == "ok" and "created" in found.found


def test_generated_and_not_null(pair: Pair) -> None:
    pair.tables(
        "t",
        "(id INT PRIMARY KEY, a INT NULL, b INT NOT NULL)",
        "(id INT PRIMARY KEY, a INT NOT NULL, b INT AS (id + 1) STORED)",
    )
    found = [finding.found for finding in pair.found("columns") if finding.severity == "fail"]
    assert len(found) == 2
    assert "a is NOT NULL" in found[0] and "b is generated" in found[1]


def test_engine_and_order(pair: Pair) -> None:
    pair.tables("t", "(id INT PRIMARY KEY, a INT)", "(id INT PRIMARY KEY, a INT) ENGINE=MyISAM")
    pair.tables("u", "(id INT PRIMARY KEY, a INT, b INT)", "(id INT PRIMARY KEY, b INT, a INT)")
    engine = pair.found("tables")[-1]
    assert (engine.severity, engine.found) == ("fail", f"{pair.at_target}.t: engine MyISAM")
    assert [finding.severity for finding in pair.found("columns")] == [], "columns may be in another order"


def test_keys(pair: Pair) -> None:
    pair.tables("bare", "(id INT PRIMARY KEY)", "(id INT)")
    pair.tables("more", "(id INT PRIMARY KEY, a INT, b INT, UNIQUE (a))", "(id INT PRIMARY KEY, a INT, b INT, "
                "UNIQUE (b), UNIQUE two (a, b))")  # fmt: skip
    pair.tables("coarse", "(id VARCHAR(9) COLLATE utf8mb4_bin PRIMARY KEY)", "(id VARCHAR(9) COLLATE "
                "utf8mb4_general_ci PRIMARY KEY)")  # fmt: skip
    found = {finding.found.split(":")[0].partition(".")[2]: finding for finding in pair.found("keys")}
    assert found.keys() == {"bare", "more", "coarse"}
    assert found["bare"].severity == found["more"].severity == "fail"
    assert "unique key b (b)" in found["more"].found
    assert found["coarse"].severity == "warn"
    pair.target.execute(found["bare"].fix.rstrip(";"))
    pair.target.execute(found["more"].fix.rstrip(";"))
    assert [finding.severity for finding in pair.found("keys")] == ["warn"]


def test_the_fix_of_a_type_mends_it(pair: Pair) -> None:
    pair.tables("t", "(id INT PRIMARY KEY, name VARCHAR(20) NOT NULL)", "(id INT PRIMARY KEY, name VARCHAR(5))")
    pair.target.execute(pair.one("columns").fix.rstrip(";"))
    assert pair.one("columns").severity == "ok"


def test_triggers_and_foreign_keys(pair: Pair) -> None:
    child = "(id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE)"
    pair.tables("parent", "(id INT PRIMARY KEY)")
    for server, database in ((pair.source, pair.at_source), (pair.target, pair.at_target)):
        connection = server.connect(database=database)
        connection.cursor().execute(f"CREATE TABLE child {child}")
        connection.close()
    logged = pair.source.execute("SHOW GLOBAL VARIABLES LIKE 'innodb_native_foreign_keys'")
    needed = not logged or logged[0][1] != "OFF"
    assert pair.one("foreign_keys").severity == "ok"
    pair.target.execute(f"ALTER TABLE {pair.at_target}.child DROP FOREIGN KEY {_foreign_key(pair)}")
    assert pair.one("foreign_keys").severity == ("fail" if needed else "ok")
    assert pair.one("triggers").severity == "ok"
    pair.target.execute(
        f"CREATE TRIGGER {pair.at_target}.fires AFTER INSERT ON {pair.at_target}.child FOR EACH ROW SET @x = 1"
    )
    assert pair.one("triggers").severity == "warn"


def _foreign_key(pair: Pair) -> str:
    rows = pair.target.execute(
        "SELECT CONSTRAINT_NAME FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = %s",
        (pair.at_target,),
    )
    return f"`{rows[0][0]}`"


def test_grants(same: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """The statements of the findings are enough."""
    monkeypatch.setenv("REPL_WEAK", "weak")
    same.tables("item", ITEM)
    same.target.execute(f"CREATE USER '{same.user}'@'%' IDENTIFIED BY 'weak'")
    same.target.execute(f"GRANT SELECT ON {same.at_target}.* TO '{same.user}'@'%'")
    account: dict[str, Any] = {"account": (same.user, "REPL_WEAK"), "ddl": "apply", "get_server_public_key": True}
    grants = [f for f in same.findings(**account) if f.id.startswith("sink.grant")]
    assert {finding.id.removeprefix("sink.grant."): finding.severity for finding in grants} == {
        "binlog": "warn", "position_table": "fail", "tables": "fail", "ddl": "fail", "mark": "warn",
    }  # fmt: skip
    for finding in grants:
        for statement in finding.fix.rstrip(";").split("; "):
            same.target.execute(statement)
    grants = [f for f in same.findings(**account) if f.id.startswith("sink.grant")]
    assert {finding.severity for finding in grants} == {"ok"}, grants


@pytest.mark.parametrize(
    ("variable", "value", "finding", "severity"),
    [
        ("innodb_flush_log_at_trx_commit", "2", "durability", "warn"),
        ("max_allowed_packet", "1048576", "max_allowed_packet", "warn"),
        ("event_scheduler", "ON", "events", "warn"),
    ],
)
def test_settings(same: Pair, variable: str, value: str, finding: str, severity: str) -> None:
    same.tables("item", "(id INT PRIMARY KEY, b LONGBLOB)")
    same.target.execute(f"CREATE EVENT {same.at_target}.e ON SCHEDULE EVERY 1 DAY DO SET @x = 1")
    with set_global(same.target, "sync_binlog", "1"), set_global(same.target, variable, value):
        assert same.one(finding).severity == severity


@pytest.mark.parametrize(
    ("server", "variable", "value", "severity"),
    [
        ("mysql", "innodb_doublewrite", "'DETECT_ONLY'", "warn"),
        ("mysql", "innodb_flush_log_at_trx_commit", "1", "ok"),
        ("mariadb", "innodb_flush_log_at_trx_commit", "3", "ok"),  # flushes more often than 1
        ("mariadb", "innodb_flush_log_at_trx_commit", "0", "warn"),
    ],
)
def test_durability(request: pytest.FixtureRequest, server: str, variable: str, value: str, severity: str) -> None:
    database: Database = request.getfixturevalue(server)
    with set_global(database, "sync_binlog", "1"), set_global(database, variable, value):
        described = side(database)
        described.close()
        (found,) = settings.durability(described.server)
    assert found.severity == severity and variable in found.found


def test_read_only(make_mysql: Callable[..., Database], make_mariadb: Callable[..., Database], target: Database,
                   monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    made = (make_mariadb if kind(target) == "mariadb" else make_mysql)()
    made.execute("SET GLOBAL read_only = ON")
    if kind(made) == "mysql":
        made.execute("SET GLOBAL super_read_only = ON")
    for pair in paired(monkeypatch, target, target):
        pair.target = made
        found = pair.one("read_only")
        assert found.severity == "fail"
        for statement in found.fix.replace("; and set it in the server's configuration file.", ";").split(";"):
            if statement.strip():
                made.execute(statement)
        assert pair.one("read_only").severity == "ok"
        pair.target = target


def test_account_without_binlog(same: Pair) -> None:
    """The mode that would be used, the GRANT for the other one, and tables that SQL can't write."""
    same.tables("item", ITEM)
    same.tables("log", "(id INT, v INT)")
    same.target.execute(f"CREATE USER {same.user}@'%' IDENTIFIED BY ''")
    same.target.execute(f"GRANT ALL ON {same.at_target}.* TO {same.user}@'%'")
    same.target.execute(f"GRANT ALL ON {same.positions}.* TO {same.user}@'%'")
    account = {"account": (same.user, "")}
    grant = same.one("grant.binlog", **account)
    assert (grant.severity, "applied by SQL" in grant.found) == ("warn", True)
    applied = same.one("apply", **account)
    assert (applied.severity, applied.found) == ("fail", f"{same.at_target}.log: no key that finds rows")
    assert grant.fix.rstrip(";") in applied.fix
    assert same.one("grant.binlog", **account, apply="binlog").severity == "fail"
    same.target.execute(grant.fix.rstrip(";"))
    assert same.one("grant.binlog", **account).severity == "ok"
    assert same.found("apply", **account) == []
    assert same.one("grant.binlog", **account, apply="sql").severity == "ok"
    assert same.found("load_data", **account) == []


def test_load_data(same: Pair) -> None:
    """Whether it is used, where rows are written by SQL, and what permits it."""
    same.tables("item", ITEM)
    with set_global(same.target, "local_infile", "OFF"):
        loads = same.one("load_data", apply="sql")
        assert (loads.severity, "local_infile = OFF" in loads.found) == ("warn", True)
        assert same.one("load_data", apply="sql", load_data=False).severity == "ok"
        same.target.execute(loads.fix.partition(";")[0].replace("PERSIST", "GLOBAL"))
        assert same.one("load_data", apply="sql").severity == "ok"
