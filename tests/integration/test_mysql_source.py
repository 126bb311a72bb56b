"""What real servers refuse, and what happens to a stream when they go away."""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from dev.servers.database import Database, MariaDB, MySQL
from dev.servers.ports import free_port
from replicator.config.task import MySQLSource as Config
from replicator.errors import PositionGone, SourceError, SourceUnavailable
from replicator.model.gtid import MariaDBPosition
from replicator.model.position import Position
from replicator.source.mysql import MySQLSource
from tests.support.binlog_reader import ErrorPacket, Walker, transactions
from tests.support.binlogs import purge_all_but_last
from tests.support.settings import set_global

KINDS = ["mysql", "mariadb"]


def config(server: Database, **changes: Any) -> Config:
    kind = "mariadb" if isinstance(server, MariaDB) else "mysql"
    base = {"type": kind, "port": server.port, "user": server.replicator[0], "password": "env:X", "heartbeat_s": 1}
    return Config.model_validate(base | changes)


def source(server: Database, password: str | None = None, **changes: Any) -> MySQLSource:
    return MySQLSource(config(server, **changes), "integration", password or server.replicator[1])


def refused(server: Database, code: str, password: str | None = None, **changes: Any) -> SourceError:
    """Both ways in must refuse."""
    for attempt in (source(server, password, **changes).start_position, lambda: _open(server, password, **changes)):
        with pytest.raises(SourceError) as raised:
            attempt()
        assert raised.value.code == code, raised.value
    return raised.value


def _open(server: Database, password: str | None, **changes: Any) -> None:
    file = server.execute("SHOW BINARY LOGS")[-1][0] if has_log(server) else "binlog.000001"
    source(server, password, **changes).open(Position(file, 4)).close()


def assert_starts_at(position: Position, made: MySQLSource) -> None:
    """At the place and behind the GTIDs of `position`, and it says whose binlog that is."""
    start = made.start_position()
    assert msgspec.structs.replace(start, server="") == position
    assert start.server != ""


def has_log(server: Database) -> bool:
    return bool(server.execute("SELECT @@log_bin")[0][0])


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest) -> Database:
    return request.getfixturevalue(request.param)


@contextlib.contextmanager
def account(server: Database, *privileges: str) -> Iterator[str]:
    """A user of the name's password with these global privileges."""
    name = f"u{uuid.uuid4().hex[:8]}"
    server.execute(f"CREATE USER {name}@'%' IDENTIFIED BY '{name}'")
    if privileges:
        server.execute(f"GRANT {', '.join(privileges)} ON *.* TO {name}@'%'")
    try:
        yield name
    finally:
        server.execute(f"DROP USER {name}@'%'")


def test_a_wrong_password(server: Database) -> None:
    error = refused(server, "E2101", password="not this one")
    assert not error.transient
    assert "not this one" not in str(error)


def test_a_password_beyond_latin_1(server: Database) -> None:
    password = "pä€ß字"
    with account(server, "REPLICATION SLAVE", "REPLICATION CLIENT") as name:
        server.execute(f"ALTER USER {name}@'%' IDENTIFIED BY '{password}'")
        assert source(server, password, user=name).start_position().offset > 4


def test_a_missing_grant_is_named_with_the_statement_that_mends_it(server: Database) -> None:
    """Both ways in read a dump: for the origin of the start, and for the stream."""
    with account(server, "REPLICATION CLIENT") as name:
        error = refused(server, "E2104", name, user=name)
        with pytest.raises(SourceError) as raised:
            source(server, name, user=name).start_position()
        for each in (error, raised.value):
            assert each.wanted == "REPLICATION SLAVE"
            assert not each.transient
        assert raised.value.fix == error.fix
        server.execute(error.fix)
        made = source(server, name, user=name)
        made.open(made.start_position()).close()


def test_an_account_without_any_grant(server: Database) -> None:
    with account(server) as name:
        error = refused(server, "E2104", password=name, user=name)
        assert name in error.fix
        assert error.fix.startswith("GRANT ")


def test_a_server_that_is_not_there() -> None:
    for where in ({"port": free_port()}, {"host": "no-such-host.invalid"}):
        made = Config.model_validate({"type": "mysql", "user": "u", "password": "env:X"} | where)
        with pytest.raises(SourceUnavailable) as raised:
            MySQLSource(made, "t", "p").start_position()
        assert raised.value.code == "E2001"
        assert raised.value.transient


@pytest.mark.parametrize(
    ("variable", "value", "code"),
    [
        ("binlog_format", "'STATEMENT'", "E2202"),
        ("binlog_row_image", "'MINIMAL'", "E2203"),
    ],
)
def test_settings_that_lose_rows(server: Database, variable: str, value: str, code: str) -> None:
    with set_global(server, variable, value):
        error = refused(server, code)
        assert variable in error.found
        assert f"{variable} = " in error.fix


def test_partial_images_that_the_task_takes(server: Database) -> None:
    with set_global(server, "binlog_row_image", "'MINIMAL'"):
        source(server, row_image="accept_partial").start_position()


def test_names_that_are_not_logged(server: Database) -> None:
    with set_global(server, "binlog_row_metadata", "'MINIMAL'"):
        source(server).start_position()


def test_the_other_flavour(mysql: MySQL, mariadb: MariaDB) -> None:
    assert "mysql" in refused(mysql, "E2212", type="mariadb").fix
    assert "mariadb" in refused(mariadb, "E2212", type="mysql").fix


def test_a_table_that_is_not_there(server: Database) -> None:
    with pytest.raises(SourceError) as raised:
        source(server, tables=["nowhere.nothing", "mysql.user", "shop.*"]).start_position()
    assert raised.value.code == "E2205"
    assert "nowhere.nothing" in raised.value.what
    assert "mysql.user" not in raised.value.what
    with account(server, "REPLICATION SLAVE", "REPLICATION CLIENT") as name:  # may not know
        source(server, name, user=name, tables=["nowhere.nothing"]).start_position()


@pytest.mark.parametrize("kind", KINDS)
def test_no_binlog(kind: str, request: pytest.FixtureRequest) -> None:
    make: Callable[..., Database] = request.getfixturevalue(f"make_{kind}")
    refused(make(extra_args=["--skip-log-bin"]), "E2201")


def test_the_same_server_id_twice(server: Database) -> None:
    made = source(server, server_id=4711)
    first = made.open(made.end_position())
    list(Walker(first, quiet=0.2))
    second = made.open(made.end_position())
    try:
        with pytest.raises(ErrorPacket) as raised:
            list(Walker(first, quiet=10))
        error = first.server_error(*raised.value.args)
        assert (error.code, error.transient) == ("E2207", False)
    finally:
        first.close()
        second.close()


def test_a_gtid_that_the_server_never_executed(server: Database) -> None:
    position = source(server).end_position()
    foreign = ",9-9-99" if isinstance(server, MariaDB) else f",{uuid.uuid4()}:1-3"
    ahead = Position(position.file, position.offset, (position.gtid + foreign).lstrip(","))
    with pytest.raises((SourceError, ErrorPacket)) as raised:
        stream = source(server).open(ahead)
        list(Walker(stream, quiet=10))
    error = raised.value if isinstance(raised.value, SourceError) else stream.server_error(*raised.value.args)
    assert error.code == "E2209"


def test_the_purged_gtids_are_named(mysql: MySQL) -> None:
    mysql.execute("CREATE DATABASE IF NOT EXISTS not_purged")
    before = source(mysql).end_position()
    mysql.execute("CREATE DATABASE IF NOT EXISTS purged")
    purge_all_but_last(mysql)
    with pytest.raises(SourceError) as raised:
        source(mysql).open(before)
    lost = mysql.execute("SELECT GTID_SUBTRACT(@@GLOBAL.gtid_purged, %s)", (before.gtid,))[0][0]
    assert raised.value.code == "E2206"
    assert lost.replace("\n", "") in raised.value.what


def test_start_at_a_file_knows_the_set_before_it(mysql: MySQL) -> None:
    """The set at a byte in the middle of a file is gathered from the file itself."""
    mysql.execute("FLUSH BINARY LOGS")
    expected = []
    for number in range(3):
        expected.append(source(mysql).end_position())
        mysql.execute(f"CREATE DATABASE IF NOT EXISTS at_{number}")
    for position in expected:
        start = {"file": position.file, "position": position.offset}
        assert_starts_at(position, source(mysql, start=start))


@pytest.mark.parametrize("kind", KINDS)
def test_a_start_behind_events_that_the_server_does_not_show(kind: str, request: pytest.FixtureRequest) -> None:
    """SHOW BINLOG EVENTS refuses pages with an event over max_allowed_packet; BINLOG_GTID_POS is NULL behind it."""
    server: Database = request.getfixturevalue(f"make_{kind}")()
    server.execute("CREATE DATABASE shop")
    server.execute("CREATE TABLE shop.t (id INT AUTO_INCREMENT PRIMARY KEY, v LONGTEXT)")
    expected = []
    with server.connect() as connection, connection.cursor() as cursor:
        for size in (10, 3 << 20, 10, 10, 5 << 20, 2 << 20, 10):
            if kind == "mariadb":
                cursor.execute("SET gtid_domain_id = %s", (size % 3,))
            cursor.execute(f"INSERT INTO shop.t (v) VALUES (REPEAT('x', {size}))")
            expected.append(source(server).end_position())
    server.execute("INSERT INTO shop.t (v) VALUES ('later')")
    with set_global(server, "max_allowed_packet", str(1 << 20)):
        for position in expected:
            start = {"file": position.file, "position": position.offset}
            assert_starts_at(position, source(server, start=start))
        end = source(server).end_position()
    assert (end.file, end.gtid == expected[-1].gtid) == (expected[-1].file, False)
    assert end == source(server).end_position()


def test_the_end_of_a_busy_log(mariadb: MariaDB, mariadb_database: str) -> None:
    """Its GTIDs are never behind its place: what is missing among them would be sent again."""
    mariadb.execute(f"CREATE TABLE {mariadb_database}.busy (id INT AUTO_INCREMENT PRIMARY KEY)")
    stopped, begun = threading.Event(), threading.Event()

    def write() -> None:
        with mariadb.connect() as connection, connection.cursor() as cursor:
            while not stopped.is_set():
                cursor.execute(f"INSERT INTO {mariadb_database}.busy VALUES ()")
                begun.set()

    writers = [threading.Thread(target=write) for _ in range(4)]
    for writer in writers:
        writer.start()
    try:
        assert begun.wait(20)
        found = [source(mariadb).end_position() for _ in range(20)]
    finally:
        stopped.set()
        for writer in writers:
            writer.join()
    for position in found:
        exact = mariadb.execute("SELECT BINLOG_GTID_POS(%s, %s)", (position.file, position.offset))[0][0]
        assert MariaDBPosition.parse(exact).subset(MariaDBPosition.parse(position.gtid))
    assert len({position.offset for position in found}) > 1


def test_start_at_a_gtid(server: Database) -> None:
    server.execute("CREATE DATABASE IF NOT EXISTS gtid_start")
    server.execute("CREATE TABLE IF NOT EXISTS gtid_start.t (id INT AUTO_INCREMENT PRIMARY KEY)")
    position = source(server).end_position()
    server.execute("INSERT INTO gtid_start.t VALUES ()")
    made = source(server, start={"gtid": position.gtid.upper()})
    start = made.start_position()
    assert start.gtid == position.gtid
    stream = made.open(start)
    assert transactions(stream, least=1) == 1
    stream.close()
    with pytest.raises(SourceError) as raised:
        source(server, start={"gtid": "nonsense"}).start_position()
    assert raised.value.code == "E2209"


def test_a_file_name_that_the_server_never_used_is_not_a_purged_one(server: Database) -> None:
    """As an operator may type it: with `snapshot: when_needed` a new snapshot would be taken."""
    end = source(server).end_position()
    for file in ("typo.000001", "binlog.999999"):
        with pytest.raises(SourceError, match="E2209") as raised:
            source(server).open(Position(file, end.offset))
        assert not isinstance(raised.value, PositionGone)


def test_heartbeats_keep_an_idle_stream_alive(server: Database) -> None:
    made = source(server, heartbeat_s=0.2)
    stream = made.open(made.end_position())
    stream._patient_until = 0.0  # the longer wait that a stream begins with is not what is tested
    began = time.monotonic()
    while time.monotonic() - began < 1.5:
        stream.read(0.1)
    stream.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_that_stops_answering_and_one_that_restarts(kind: str, request: pytest.FixtureRequest) -> None:
    server: Database = request.getfixturevalue(f"make_{kind}")()
    made = source(server, heartbeat_s=0.5)
    stream = made.open(made.end_position())
    list(Walker(stream, quiet=0.3))
    stream._patient_until = 0.0
    server.pause()
    began = time.monotonic()
    try:
        with pytest.raises(SourceUnavailable) as raised:
            while True:
                stream.read(10)
    finally:
        server.resume()
        stream.close()
    assert raised.value.code == "E2002"
    assert 0.4 < time.monotonic() - began < 2 * 0.5 + 0.75  # two heartbeats after it was last heard of

    position = made.end_position()
    stream = made.open(position)
    list(Walker(stream, quiet=0.3))
    server.kill()
    with pytest.raises(SourceUnavailable):
        while True:
            stream.read(10)
    stream.close()
    with pytest.raises(SourceUnavailable) as raised:
        made.open(position)
    assert raised.value.code == "E2001"
    server.start()
    server.execute("CREATE DATABASE after_restart")
    stream = made.open(position)
    assert next(event for event in Walker(stream, quiet=20) if event.type == 2)  # the CREATE
    stream.close()


def test_a_row_larger_than_a_packet(server: Database, request: pytest.FixtureRequest) -> None:
    size = 20_000_000
    with set_global(server, "max_allowed_packet", "67108864"):
        server.execute("CREATE DATABASE IF NOT EXISTS large")
        server.execute("CREATE OR REPLACE TABLE large.t (b LONGBLOB)" if isinstance(server, MariaDB) else
                       "CREATE TABLE IF NOT EXISTS large.t (b LONGBLOB)")  # fmt: skip
        made = source(server)
        position = made.end_position()
        server.execute("INSERT INTO large.t VALUES (REPEAT('x', %s))", (size,))
        stream = made.open(position)
        bodies = (len(event.body) for event in Walker(stream, quiet=20))
        largest = next(body for body in bodies if body > 1_000_000)
        stream.close()
    server.execute("DROP DATABASE large")
    assert size < largest < size + 1000


def test_the_stream_leaves_no_connection_behind(server: Database) -> None:
    made = source(server)
    for _ in range(3):
        stream = made.open(made.end_position())
        stream.read(0.1)
        stream.close()
    deadline = time.monotonic() + 10
    query = "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'replicator'"
    while server.execute(query)[0][0] and time.monotonic() < deadline:
        time.sleep(0.1)
    assert server.execute(query)[0][0] == 0
