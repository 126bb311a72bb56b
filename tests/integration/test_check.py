"""`replicator check` against real servers: what it finds, and that its statements mend it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dev.servers import Kafka, ZooKeeper
from dev.servers.database import Database, MariaDB, MySQL
from replicator.cli.main import main
from replicator.config.task import MySQLSource as Config
from replicator.model.position import Position
from replicator.source.mysql import MySQLSource
from replicator.source.mysql.checks import check
from tests.support.binlogs import purge_all_but_last
from tests.support.settings import set_global

KINDS = ["mysql", "mariadb"]
SERVER_ID = 424242


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest) -> Database:
    return request.getfixturevalue(request.param)


def config(server: Database, **changes: Any) -> Config:
    kind = "mariadb" if isinstance(server, MariaDB) else "mysql"
    base = {
        "type": kind,
        "host": "127.0.0.1",
        "port": server.port,
        "user": "replicator",
        "password": "env:X",
        "heartbeat_s": 1,
    }
    return Config.model_validate(base | changes)


def findings(
    server: Database, position: Position | None = None, password: str | None = None, **changes: Any
) -> dict[str, Any]:
    done = check(config(server, **changes), "checked", password or "replicator", SERVER_ID, position)
    found = {finding.id.removeprefix("source."): finding for finding in done.findings}
    assert len(found) == len(done.findings)
    assert "connection" not in found, found["connection"]
    assert all(finding.fix for finding in done.findings if finding.severity != "ok")
    return found


def test_a_server_as_it_should_be(server: Database) -> None:
    with set_global(server, "sync_binlog", "1"):
        found = findings(server)
    assert {finding.id: finding for finding in found.values() if finding.severity == "fail"} == {}
    assert {"log_bin", "binlog_format", "position", "clock", "our_server_id", "durability"} <= set(found)


@pytest.mark.parametrize(
    ("variable", "value", "finding", "severity"),
    [
        ("binlog_format", "'STATEMENT'", "binlog_format", "fail"),
        ("binlog_row_image", "'MINIMAL'", "binlog_row_image", "fail"),
        ("binlog_row_metadata", "'MINIMAL'", "binlog_row_metadata", "warn"),
        ("binlog_expire_logs_seconds", "3600", "retention", "warn"),
        ("sync_binlog", "0", "durability", "warn"),
        ("innodb_flush_log_at_trx_commit", "2", "durability", "warn"),
    ],
)
def test_a_setting_is_found_and_its_fix_mends_it(
    server: Database, variable: str, value: str, finding: str, severity: str
) -> None:
    with set_global(server, "sync_binlog", "1"), set_global(server, variable, value):
        found = findings(server)[finding]
        assert found.severity == severity
        statement = found.fix.split(";")[0].replace("PERSIST", "GLOBAL")
        assert variable in statement
        server.execute(statement)
        assert findings(server)[finding].severity == "ok"


@pytest.mark.parametrize(
    ("flavour", "variable", "value"),
    [
        ("mysql", "binlog_transaction_compression", "ON"),
        ("mysql", "binlog_row_value_options", "'PARTIAL_JSON'"),
        ("mariadb", "log_bin_compress", "ON"),
    ],
)
def test_what_is_read_is_no_finding(request: pytest.FixtureRequest, flavour: str, variable: str, value: str) -> None:
    server = request.getfixturevalue(flavour)
    with set_global(server, "sync_binlog", "1"), set_global(server, variable, value):
        assert [finding for finding in findings(server).values() if finding.severity == "fail"] == []


def test_tables(server: Database) -> None:
    name = f"c_{uuid.uuid4().hex[:8]}"
    server.execute(f"CREATE DATABASE {name}")
    try:
        for table in (
            "good (id INT PRIMARY KEY)",
            "bare (v INT)",
            "child (id INT PRIMARY KEY, g INT, FOREIGN KEY (g) REFERENCES good (id) ON DELETE CASCADE)",
        ):
            server.execute(f"CREATE TABLE {name}.{table}")
        found = findings(server, tables=[f"{name}.*"])
        assert found["tables"].severity == "ok"
        assert (found["primary_keys"].severity, found["primary_keys"].found) == ("warn", f"none in {name}.bare")
        logged = isinstance(server, MySQL)  # MySQL 9.7 logs what a foreign key cascades to
        assert found["foreign_keys"].severity == ("ok" if logged else "warn")
        found = findings(server, tables=[f"{name}.good", f"{name}.absent"])
        assert (found["tables"].severity, found["tables"].found) == ("fail", f"missing: {name}.absent")
        assert findings(server, tables=[f"{name}.none_*"])["tables"].severity == "warn"
    finally:
        server.execute(f"DROP DATABASE {name}")


def test_grants_and_the_statements_that_give_them(server: Database) -> None:
    user = f"u{uuid.uuid4().hex[:8]}"
    server.execute(f"CREATE USER {user}@'%' IDENTIFIED BY '{user}'")
    try:
        for privilege in ("replication_client", "replication_slave"):
            found = findings(server, password=user, user=user)[f"grant.{privilege}"]
            assert found.severity == "fail"
            assert "E2104" in found.found
            server.execute(found.fix)
            assert findings(server, password=user, user=user)[f"grant.{privilege}"].severity == "ok"
        table = findings(server, password=user, user=user, tables=["mysql.user"])["tables"]
        assert table.severity == "fail"
        assert "GRANT SELECT" in table.fix
    finally:
        server.execute(f"DROP USER {user}@'%'")


def test_login_and_reach(server: Database) -> None:
    found = findings(server, password="wrong")
    assert list(found) == ["reachable"]
    assert "E2101" in found["reachable"].found
    assert "E2001" in findings(server, port=1)["reachable"].found
    assert "E2212" in findings(server, type="mariadb" if isinstance(server, MySQL) else "mysql")["version"].found


def test_a_purged_position(server: Database) -> None:
    server.execute("CREATE DATABASE IF NOT EXISTS check_purged")
    position = MySQLSource(config(server), "checked", "replicator").end_position()
    server.execute("CREATE DATABASE IF NOT EXISTS check_purged_2")
    assert findings(server, position)["position"].severity == "ok"
    purge_all_but_last(server)
    found = findings(server, position)["position"]
    assert found.severity == "fail"
    assert "E2206" in found.found
    server.execute("DROP DATABASE check_purged")
    server.execute("DROP DATABASE check_purged_2")


def test_places_in_the_binlog(server: Database) -> None:
    """As `check --position` and a resumed task test them."""
    server.execute("CREATE DATABASE IF NOT EXISTS check_place")
    file, begin = server.end_of_log()
    server.execute("CREATE TABLE check_place.t (id INT PRIMARY KEY)")
    server.execute("INSERT INTO check_place.t VALUES (1)")
    _, end = server.end_of_log()
    ends = [int(row[4]) for row in server.execute("SHOW BINLOG EVENTS IN %s FROM %s", (file, begin))]
    inside = ends[-3]  # before the row event or the commit
    for offset, found in (
        (begin, ""),
        (end, ""),
        (begin + 7, "no event begins there"),
        (inside, "inside a transaction"),
        (end + 1, "the file ends at"),
    ):
        finding = findings(server, Position(file, offset))["position"]
        assert (finding.severity == "ok") is (not found) and found in finding.found, (offset, finding)
        assert found == "" or "E2209" in finding.found
    later = f"{file.rpartition('.')[0]}.999999"
    for odd in (later, "nonsense.000001"):
        finding = findings(server, Position(odd, 4))["position"]
        assert finding.severity == "fail" and "the last file is" in finding.found, finding
    server.execute("DROP DATABASE check_place")


def test_our_server_id(mysql: MySQL) -> None:
    for task, severity in (("another", "fail"), ("checked", "ok")):
        stream = MySQLSource(config(mysql, server_id=SERVER_ID), task, "replicator").open(
            MySQLSource(config(mysql), task, "replicator").end_position()
        )
        found = findings(mysql)["our_server_id"]
        stream.close()
        assert found.severity == severity
        assert (task in found.found) is (severity == "fail")
    done = check(config(mysql), "checked", "replicator", mysql.server_id)
    assert next(f for f in done.findings if f.id == "source.our_server_id").severity == "fail"


def test_binlog_filters(make_mysql: Callable[..., MySQL]) -> None:
    server = make_mysql(extra_args=["--binlog-ignore-db=hidden"])
    for name in ("hidden", "shown"):
        server.execute(f"CREATE DATABASE {name}")
        server.execute(f"CREATE TABLE {name}.t (id INT PRIMARY KEY)")
    assert findings(server, tables=["shown.*"])["binlog_filters"].severity == "ok"
    found = findings(server, tables=["*.*"])["binlog_filters"]
    assert (found.severity, found.wanted) == ("fail", "changes of hidden in the binlog")


def test_binlog_off(make_mysql: Callable[..., MySQL]) -> None:
    found = findings(make_mysql(extra_args=["--skip-log-bin"]))
    assert "E2201" in found["log_bin"].found
    assert "position" not in found


def run(
    tmp_path: Path, server: Database, sink: dict[str, Any], *arguments: str, **changes: Any
) -> tuple[int, dict[str, Any]]:
    source = config(server, tables=["mysql.user"], **changes).model_dump(mode="json", exclude_none=True)
    path = tmp_path / "task.json"
    path.write_text(json.dumps({"name": "checked", "source": source | {"password": "env:CHECK_PW"}, "sink": sink}))
    result = CliRunner(env={"CHECK_PW": "replicator"}).invoke(
        main, ["check", "-f", str(path), "-o", "json", *arguments]
    )
    return result.exit_code, {finding["id"]: finding for finding in json.loads(result.stdout)["findings"]}


def test_the_whole_command(tmp_path: Path, mysql: MySQL, kafka: Kafka, zookeeper: ZooKeeper, topic_prefix: str) -> None:
    sink = {"type": "kafka", "bootstrap_servers": [kafka.address], "topic": topic_prefix + "{database}.{table}"}
    status, found = run(tmp_path, mysql, sink, "--zookeeper", zookeeper.address)
    failed = [finding for finding in found.values() if finding["severity"] == "fail"]
    assert (status, failed) in ((0, []), (10, []))
    assert found["zookeeper.session_timeout"]["severity"] in ("ok", "warn")
    assert {"zookeeper.reachable", "zookeeper.round_trip", "source.position"} <= set(found)
    assert any(name.startswith("sink.") for name in found)
    status, found = run(tmp_path, mysql, {"type": "file", "path": "/no/such/folder/x"}, "--zookeeper", "127.0.0.1:1")
    assert status == 11
    assert found["zookeeper.reachable"]["severity"] == found["sink.file"]["severity"] == "fail"
    assert found["source.reachable"]["severity"] == "ok"


def test_a_shared_connection_is_said(tmp_path: Path, mysql: MySQL) -> None:
    sink = {"type": "stdout"}
    assert "source.share" not in run(tmp_path, mysql, sink)[1]
    found = run(tmp_path, mysql, sink, share="auto")[1]["source.share"]
    assert found["severity"] == "ok" and found["found"].startswith("auto: one connection for the tasks of a Core")


def test_the_position_is_that_of_the_last_commit(tmp_path: Path, mysql: MySQL, zookeeper: ZooKeeper) -> None:
    from kazoo.client import KazooClient

    from replicator.coordination.layout import Layout
    from replicator.coordination.records import CommitRecord, dump
    from replicator.model.checkpoint import Checkpoint

    root = f"/check-{uuid.uuid4().hex[:8]}"
    client = KazooClient(zookeeper.address)
    client.start()
    gone = Position("binlog.000000", 4711)
    record = CommitRecord(epoch=7, checkpoint=Checkpoint(gone))
    client.create(Layout(root).last_commit("checked"), dump(record), makepath=True)
    client.stop()
    client.close()
    sink = {"type": "stdout"}
    status, found = run(tmp_path, mysql, sink, "--zookeeper", zookeeper.address, "--root", root)
    assert status == 11
    assert "binlog.000000:4711, epoch 7" in found["zookeeper.last_commit"]["found"]
    assert "E2206" in found["source.position"]["found"]
