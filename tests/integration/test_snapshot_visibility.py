"""A chunk has every transaction that the stream has passed, also one that the engine does not show yet."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from dev.cluster import wait_for
from dev.servers import MariaDB, MySQL
from replicator.config.task import MySQLSource as Config
from replicator.errors import SourceUnavailable
from replicator.model.gtid import GtidSet
from replicator.model.position import Position
from replicator.source.mysql import MySQLSource
from replicator.source.mysql.snapshot import MySQLSnapshotSource, views
from tests.support.binlog_reader import Walker

WAIT_S = 4
"""How long a commit waits for a replica that there is not: it is in the log then, and no SELECT shows it."""
XID = 16
PLUGIN = "rpl_semi_sync_source"


def config(server: MySQL | MariaDB) -> Config:
    settings = {"type": server.release.flavour, "port": server.port, "user": "replicator", "password": "env:X"}
    return Config.model_validate(settings | {"tables": ["d.*"]})


def wait_for_replicas(server: MySQL) -> None:
    ((folder,),) = server.execute("SELECT @@plugin_dir")
    if not (Path(str(folder)) / "semisync_source.so").exists():
        pytest.skip("this server has no semi-synchronous replication")
    server.execute(f"INSTALL PLUGIN {PLUGIN} SONAME 'semisync_source.so'")
    for name, value in {"timeout": 1000 * WAIT_S, "wait_no_replica": 1, "enabled": 1}.items():
        server.execute(f"SET GLOBAL {PLUGIN}_{name} = {value}")


@pytest.mark.parametrize(
    ("gtids", "known"),
    [(True, True), (True, False), (False, False)],
    ids=["gtids", "gtids, of a position without a set", "positions"],
)
def test_a_commit_that_is_sent_before_it_is_shown(
    make_mysql: Callable[..., MySQL], *, gtids: bool, known: bool
) -> None:
    off = ["--gtid-mode=OFF", "--enforce-gtid-consistency=OFF"]
    server = make_mysql() if gtids else make_mysql(extra_args=off)
    server.execute("CREATE DATABASE d")
    server.execute("CREATE TABLE d.t (id INT PRIMARY KEY)")
    wait_for_replicas(server)
    source = MySQLSource(config(server), "t", "replicator")
    end = source.end_position()
    executed = GtidSet.parse(end.gtid)
    if gtids:
        executed.add(end.gtid.split(":")[0], int(end.gtid.rpartition("-")[2]) + 1)
    stream = source.open(source.end_position())
    reader = MySQLSnapshotSource(config(server), "replicator").open(stream.position.server)
    commit = threading.Thread(target=server.execute, args=("INSERT INTO d.t VALUES (1)",))
    try:
        table = reader.begin("d.t")
        assert table is not None
        table = msgspec.structs.replace(table, limit=("100",))
        commit.start()
        sent = [event for event in Walker(stream, least=1) if event.type == XID]
        assert len(sent) == 1, "the server sends it"
        assert server.execute("SELECT COUNT(*) FROM d.t") == [(0,)], "and shows it later: this is the race"
        chunk = reader.read(table, 10, Position(sent[0].file, sent[0].end, str(executed) if known else ""))
        assert len(chunk.images) == 1
    finally:
        commit.join(30)
        reader.close()
        stream.close()


def test_rows_that_are_in_the_log_before_the_stream_begins_and_shown_later(make_mysql: Callable[..., MySQL]) -> None:
    """The stream does not have them, so the last row of their table has to be theirs."""
    server = make_mysql(extra_args=["--gtid-mode=OFF", "--enforce-gtid-consistency=OFF"])
    server.execute("CREATE DATABASE d")
    server.execute("CREATE TABLE d.t (id INT PRIMARY KEY)")
    wait_for_replicas(server)
    source = MySQLSource(config(server), "t", "replicator")
    before = source.end_position()
    commit = threading.Thread(target=server.execute, args=("INSERT INTO d.t VALUES (1)",))
    commit.start()
    try:
        wait_for(lambda: source.end_position().order > before.order, "the commit in the log", 20)
        begins = source.end_position()
        assert server.execute("SELECT COUNT(*) FROM d.t") == [(0,)], "it is shown later: this is the race"
        stream = source.open(begins)
        reader = MySQLSnapshotSource(config(server), "replicator").open(stream.position.server)
        reader.settle(stream.position)
        table = reader.begin("d.t")
        assert table is not None and table.limit == ("1",)
        reader.close()
        stream.close()
    finally:
        commit.join(30)


def test_what_is_never_shown_is_an_error(mysql: MySQL, mariadb: MariaDB, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "_WAIT_S", 0.3)
    for server in (mysql, mariadb):
        server.execute("CREATE DATABASE IF NOT EXISTS d")
        server.execute("CREATE TABLE IF NOT EXISTS d.t (id INT PRIMARY KEY)")
        end = MySQLSource(config(server), "t", "replicator").end_position()
        gtid = f"{end.gtid.split(':')[0]}:1-999999999" if server is mysql else end.gtid
        passed = msgspec.structs.replace(end, offset=end.offset + 1000, gtid=gtid, file=following(end.file))
        reader = MySQLSnapshotSource(config(server), "replicator").open("")
        try:
            table = reader.begin("d.t")
            assert table is not None
            with pytest.raises(SourceUnavailable) as raised:
                reader.read(msgspec.structs.replace(table, limit=("1",)), 10, passed)
            assert raised.value.code == "E2002"
        finally:
            reader.close()
            server.execute("DROP DATABASE d")


def following(file: str) -> str:
    base, _, number = file.rpartition(".")
    return f"{base}.{int(number) + 1:06d}"


def test_mariadb_s_own_events_move_a_view(mariadb: MariaDB) -> None:
    """After a new log file, and after the event that the server writes some time later by itself."""
    mariadb.execute("CREATE DATABASE d")
    try:
        mariadb.execute("CREATE TABLE d.t (id INT PRIMARY KEY)")
        source = MySQLSource(config(mariadb), "t", "replicator")
        reader = MySQLSnapshotSource(config(mariadb), "replicator").open("")
        table = reader.begin("d.t")
        assert table is not None
        table = msgspec.structs.replace(table, limit=("1",))
        began = time.monotonic()
        for _ in range(5):
            mariadb.execute("REPLACE INTO d.t VALUES (1)")
            mariadb.execute("FLUSH BINARY LOGS")
            reader.read(table, 10, source.end_position())
            time.sleep(0.3)
            reader.read(table, 10, source.end_position())
        assert time.monotonic() - began < views._WAIT_S / 2
        reader.close()
    finally:
        mariadb.execute("DROP DATABASE d")
