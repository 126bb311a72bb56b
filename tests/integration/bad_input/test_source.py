"""What the database server or its account lacks: one line that says so, and after it is mended the same command goes on
where it was."""

from __future__ import annotations

import time
from collections.abc import Callable

import pymysql
import pytest

from dev.cluster import wait_for
from dev.servers import MySQL
from replicator.config.load import parse_task
from replicator.source.mysql import MySQLSource
from tests.integration.bad_input.command import Replicator
from tests.integration.bad_input.local import Local
from tests.support.binlogs import purge_all_but_last
from tests.support.settings import set_global


def test_a_wrong_password(local: Local) -> None:
    local.begin()
    local.insert()
    local.replicator.environment["REPL_PASSWORD"] = "not this one"
    ended = local.run()
    ended.refused("E2101", "replicator", "Found: Access denied", "Fix: ")
    assert "not this one" not in ended.err
    local.replicator.environment["REPL_PASSWORD"] = "replicator"
    local.arrives()


def test_a_missing_grant(local: Local) -> None:
    name = f"u_{local.name}"
    local.server.execute(f"CREATE USER {name}@'%' IDENTIFIED BY 'replicator'")
    try:
        local.begin()
        local.config["source"]["user"] = name
        local.insert(2)
        for privilege in ("REPLICATION CLIENT", "REPLICATION SLAVE"):
            line = local.run().refused("E2104", name, f"Wanted: {privilege}. Fix: GRANT {privilege} ON", "Found: ")
            local.server.execute(line.partition("Fix: ")[2])
        local.insert()
        local.arrives()
    finally:
        local.server.execute(f"DROP USER {name}@'%'")


def test_the_binlog_is_off(make_mysql: Callable[..., MySQL], replicator: Replicator) -> None:
    server = make_mysql(extra_args=["--skip-log-bin"])
    server.execute("CREATE DATABASE off")
    local = Local(server, "off", replicator)
    local.run().refused("E2201", "Found: log_bin = OFF", "Wanted: log_bin = ON", "Fix: ")
    server.stop()
    server.extra_args = []
    server.start()
    local.begin()


@pytest.mark.parametrize(
    ("variable", "value", "code"),
    [
        ("binlog_format", "STATEMENT", "E2202"),
        ("binlog_row_image", "MINIMAL", "E2203"),
    ],
)
def test_a_setting_that_loses_rows(local: Local, variable: str, value: str, code: str) -> None:
    """Sessions that are open already keep what they had, so rows that are committed meanwhile are whole."""
    local.begin()
    local.insert()
    connection = local.server.connect(database=local.name)
    try:
        with set_global(local.server, variable, f"'{value}'"):
            line = local.run().refused(code, f"Found: {variable} = {value}", f"Wanted: {variable} = ")
            assert f"Fix: SET PERSIST {variable} = " in line
            with connection.cursor() as cursor:
                cursor.execute("INSERT INTO item (note) VALUES ('x')")
                local.committed.append(cursor.lastrowid)
            local.server.execute(line.partition("Fix: ")[2].partition(";")[0].replace("PERSIST", "GLOBAL"))
            local.insert()
            local.arrives()
    finally:
        connection.close()


def test_a_position_that_is_purged(make_mysql: Callable[..., MySQL], replicator: Replicator) -> None:
    """Nothing brings purged rows back: the task stands, says which are lost, and a new one goes on behind them."""
    server = make_mysql()
    server.execute("CREATE DATABASE purged")
    local = Local(server, "purged", replicator)
    local.begin()
    local.insert(2)
    purge_all_but_last(server)
    before = local.delivered()
    for _ in range(2):
        local.run().refused("E2206", "Found: gtid_purged", "Wanted: everything after ", "Fix: Restore", "At: ")
    assert local.delivered() == before
    local.config["source"]["start"] = "earliest"
    local.committed.clear()
    local.insert()
    new = ("--state", str(replicator.folder / "new.sqlite"))
    local.run(*new).refused("E3203", str(local.output), "Fix: ")
    assert local.delivered() == before, "what another task wrote is not touched"
    local.elsewhere("new.jsonl")
    local.run(*new).ok()
    assert local.delivered() == local.committed


def test_a_table_that_is_not_there(local: Local) -> None:
    local.config["source"]["tables"] = [f"{local.name}.item", f"{local.name}.later"]
    local.run().refused("E2205", f"{local.name}.later", "Found: ", "Fix: Create them")
    local.server.execute(f"CREATE TABLE {local.name}.later (id INT PRIMARY KEY)")
    local.begin()


def test_another_replica_takes_our_id(local: Local) -> None:
    """The server throws out whoever came first. It must say so and stop: two that threw each other out for ever would
    both deliver nothing."""
    local.begin()
    first = local.start()
    first.says("streaming")

    def reading() -> set[int]:
        return {int(row[0]) for row in local.server.execute("SHOW REPLICAS") if local.name in str(row[1])}

    # Short streams that looked at a file before are gone for the server when its next heartbeat does not arrive.
    wait_for(lambda: len(reading()) == 1, "the run alone to read", 20)
    (ours,) = reading()
    config = parse_task(local.config)
    source = MySQLSource(config.database, "rival", local.server.replicator[1], ours)
    stream = source.open(source.end_position())
    first.end().refused("E2207", "another replica uses the same server id", "Fix: Set `source.server_id`")
    stream.close()
    local.insert()
    local.arrives()


def test_82_two_runs_of_one_task_do_not_disturb_each_other(local: Local) -> None:
    """Nor does one a task of its name on a bus, whose id follows from the name, or stands in the file."""
    local.config["source"]["server_id"] = 4711
    local.begin()
    config = parse_task(local.config)
    bus = MySQLSource(config.database, config.name, local.server.replicator[1])
    assert bus.server_id == 4711
    stream = bus.open(bus.end_position())
    first = local.start()
    first.says("streaming")
    second = local.replicator.start("run", "-f", str(local.path), "--sink", "stdout")
    second.says("streaming")
    local.insert()
    local.wait_delivered()
    end, seen = time.monotonic() + 10, b""
    while b"WRITE" not in seen and local.name.encode() not in seen and time.monotonic() < end:
        seen += stream.read(0.5)
    assert local.name.encode() in seen, "who came first still reads"
    stream.close()
    assert second.interrupt().status == 130
    assert first.interrupt().status == 130
    local.arrives()


def test_a_server_that_goes_away(make_mysql: Callable[..., MySQL], replicator: Replicator) -> None:
    """At the start, and while it streams: it waits, says so once, and goes on."""
    server = make_mysql()
    server.execute("CREATE DATABASE away")
    local = Local(server, "away", replicator)
    local.begin()
    local.insert()
    server.stop()
    running = local.start()
    assert "A running task retries" in running.says("waiting", "E2001")
    server.start()
    local.wait_delivered()
    server.kill()
    running.says("waiting", "E2002")
    server.start()
    local.insert()
    local.wait_delivered()
    assert running.interrupt().status == 130
    local.arrives()


def test_connections_are_all_taken(local: Local) -> None:
    local.begin()
    local.insert()
    held = []
    root = local.server.connect()
    try:
        root.cursor().execute("SET GLOBAL max_connections = 10")
        refused = 0
        while refused < 12:  # in a row: what others had open is closed by and by
            try:
                held.append(local.server.connect(user="replicator", password="replicator"))
                refused = 0
            except pymysql.err.OperationalError:
                refused += 1
                time.sleep(0.2)
        running = local.start("--until-current")
        running.says("waiting", "E2001", "Too many connections")
    finally:
        root.cursor().execute("SET GLOBAL max_connections = 200")
        for connection in [*held, root]:
            connection.close()
    running.end().ok()
    local.arrives()


def test_what_the_operator_allows_is_used(local: Local) -> None:
    """A variable of another name, a secret's file, a directory for files: each by its option, at a real server."""
    folder = local.replicator.folder
    (folder / "secrets").mkdir()
    (folder / "secrets" / "password").write_text("replicator\n")
    local.replicator.environment["BUS_PASSWORD"] = "replicator"
    local.begin()
    local.config["source"]["password"] = "env:BUS_PASSWORD"
    local.run().refused("E1012", "BUS_PASSWORD", "--secrets-env-prefix")
    local.insert()
    local.run("--secrets-env-prefix", "BUS_").ok()
    local.config["source"]["password"] = f"file:{folder}/secrets/password"
    local.run().refused("E1012", "--secrets-directory")
    local.insert()
    local.run("--secrets-directory", "secrets").ok()
    assert local.delivered() == local.committed
    (folder / "elsewhere").mkdir()
    allowed = ("--secrets-directory", "secrets", "--file-sink-directory", "elsewhere")
    local.run(*allowed).refused("E3202", str(local.output))
    assert local.delivered() == local.committed
