"""What the target refuses, and what it does to transactions: rows, locks, sizes, privileges, fail-overs."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from dev.servers import Database, replication
from replicator.errors import ReplicatorError, SinkError, SinkUnavailable
from replicator.model.checkpoint import Checkpoint
from replicator.pipeline.authority import authority
from tests.support import target
from tests.support.row_records import joined
from tests.support.site_pair import Pair, deliver

GRANTS = {
    "mysql": ("REPLICATION_APPLIER ON *.*", "SELECT, INSERT, UPDATE, DELETE ON *.*"),
    "mariadb": ("BINLOG REPLAY ON *.*", "SELECT ON *.*"),
}


@pytest.fixture
def other(request: pytest.FixtureRequest, same: Pair) -> Iterator[Pair]:
    """With a target of this test alone."""
    server = request.getfixturevalue("make_" + same.target.release.flavour)()
    yield from _alone(same, server)


def _alone(same: Pair, server: Database) -> Iterator[Pair]:
    server.execute("CREATE DATABASE place")
    server.execute(f"CREATE DATABASE {same.there}")
    pair = Pair(same.source, server, same.here, same.there, "place")
    yield pair
    pair.close()


@pytest.mark.parametrize(
    ("change", "at_target", "code", "row"),
    [
        ("INSERT INTO t VALUES (8, 8), (9, 9)", "INSERT INTO t VALUES (9, 0)", "E3424", 1),
        ("INSERT INTO t VALUES (8, 8)", "INSERT INTO t VALUES (9, 8)", "E3424", 0),
        ("UPDATE t SET v = -v ORDER BY id", "DELETE FROM t WHERE id = 2", "E3423", 1),
        ("UPDATE t SET v = 77 WHERE id = 1", "UPDATE t SET v = 77 WHERE id = 2", "E3424", 0),
        ("DELETE FROM t WHERE id = 2", "DELETE FROM t WHERE id = 2", "E3423", 0),
    ],
)
@pytest.mark.parametrize("apply", ["binlog", "sql"])
def test_conflicts_stop_with_the_row(same: Pair, change: str, at_target: str, code: str, row: int, apply: str) -> None:
    same.both("CREATE TABLE t (id INT PRIMARY KEY, v INT UNIQUE)", "CREATE TABLE u (id INT PRIMARY KEY)")
    sink = same.opened(apply=apply)
    deliver(sink, same.at_source("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)"))
    same.at_target(at_target)
    before = same.rows("t")[1]
    (batch,) = same.at_source("BEGIN", "INSERT INTO u VALUES (1)", change, "COMMIT")
    with pytest.raises(SinkError) as raised:
        deliver(sink, [batch])
    error = raised.value
    assert (error.code, error.transient, error.table) == (code, False, f"{same.here}.t")
    assert error.position == error.transaction == batch.records[row + 1][3].decode()
    assert f"row {row + 1} of the transaction" in error.found
    assert (same.rows("t")[1], same.rows("u")[1]) == (before, [])


def test_lock_wait_is_repeated_as_a_whole(same: Pair) -> None:
    same.both("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    sink = same.opened(lock_wait_timeout_s=1)
    deliver(sink, same.at_source("INSERT INTO t VALUES (1, 1), (2, 2)"))
    (batch,) = same.at_source("UPDATE t SET v = 9")
    holder = _transaction(same, "SELECT * FROM t WHERE id = 2 FOR UPDATE")
    with pytest.raises(SinkUnavailable) as raised:
        deliver(sink, [batch])
    assert raised.value.code == "E3409"
    holder.rollback()
    assert sink.open(target.term()) is not None
    deliver(sink, [batch])
    assert same.rows("t")[1] == [(1, 9), (2, 9)]
    holder.close()


def test_deadlock_is_repeated_as_a_whole(same: Pair) -> None:
    same.both("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "CREATE TABLE other (id INT PRIMARY KEY)")
    sink = same.opened(lock_wait_timeout_s=20)
    deliver(sink, same.at_source("INSERT INTO t VALUES (1, 1), (2, 2)"))
    (batch,) = same.at_source("UPDATE t SET v = 9 ORDER BY id")
    holder = _transaction(
        same,
        "INSERT INTO other VALUES " + ",".join(f"({n})" for n in range(500)),  # the heavier one, so that ours is ended
        "SELECT * FROM t WHERE id = 2 FOR UPDATE",
    )
    found: list[ReplicatorError] = []

    def write() -> None:
        try:
            deliver(sink, [batch])
        except ReplicatorError as error:
            found.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    waits = "SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT'"
    while same.target.execute(waits) != [(1,)] and writer.is_alive():
        time.sleep(0.12)  # more often, and the server shows what it has found before
    with holder.cursor() as cursor:
        cursor.execute("SELECT * FROM t WHERE id = 1 FOR UPDATE")
    writer.join(20)
    holder.rollback()
    assert [error.code for error in found] == ["E3409"]
    assert found[0].transient
    sink.open(target.term())
    deliver(sink, [batch])
    assert same.rows("t")[1] == [(1, 9), (2, 9)]
    holder.close()


def test_read_only_target(other: Pair) -> None:
    other.both("CREATE TABLE t (id INT PRIMARY KEY)")
    account = _account(other)
    sink = other.sink(**account)
    sink.open(target.term())
    first, second = other.at_source("INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (2)")
    deliver(sink, [first])
    replication.make_read_only(other.target)
    with pytest.raises(SinkUnavailable) as raised:
        deliver(sink, [second])
    assert raised.value.code == "E3408"
    with pytest.raises(SinkUnavailable) as raised:
        sink.open(target.term())
    assert raised.value.code == "E3408"
    if other.target.release.flavour == "mysql":
        other.target.execute("SET GLOBAL super_read_only = OFF")
    other.target.execute("SET GLOBAL read_only = OFF")
    assert sink.open(target.term()) == first.position
    deliver(sink, [second])
    assert other.rows("t")[1] == [(1,), (2,)]


def test_privilege_missing(other: Pair) -> None:
    other.both("CREATE TABLE t (id INT PRIMARY KEY)")
    account = _account(other)
    flavour = other.target.release.flavour
    first, _ = GRANTS[flavour]
    other.target.execute(f"REVOKE {first} FROM applier@'%%'")
    sink = other.sink(**account, apply="binlog")
    sink.open(target.term())
    (batch,) = other.at_source("INSERT INTO t VALUES (1)")
    with pytest.raises(SinkError) as raised:
        deliver(sink, [batch])
    assert raised.value.code == "E3405"
    assert first.split(" ON ")[0] in raised.value.fix
    other.target.execute(f"GRANT {first} TO applier@'%%'")
    sink.open(target.term())
    deliver(sink, [batch])


@pytest.mark.parametrize("apply", ["binlog", "sql"])
def test_transaction_of_many_packets(same: Pair, apply: str) -> None:
    key = "PRIMARY KEY" if apply == "sql" else ""
    same.both("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(100))", f"CREATE TABLE u (id INT {key}, w INT)")
    values = ",".join(f"({n}, REPEAT('x', 90))" for n in range(3000))
    batches = same.at_source(
        "BEGIN",
        f"INSERT INTO t VALUES {values}",
        "INSERT INTO u SELECT id, 1 FROM t",
        "UPDATE t SET v = 'y' WHERE id % 3 = 0",
        "DELETE FROM t WHERE id % 7 = 0",
        "UPDATE u SET w = 2 WHERE id < 50",
        "COMMIT",
    )
    assert len(batches) == 1
    deliver(same.opened(max_packet_bytes=1 << 16, apply=apply), batches)
    for table in ("t", "u"):
        here, there = same.rows(table)
        assert here == there


def test_rows_and_max_allowed_packet(same: Pair) -> None:
    """A statement has 4/3 of a row's bytes."""
    limit = int(same.target.execute("SELECT @@GLOBAL.max_allowed_packet")[0][0])
    same.both("CREATE TABLE t (id INT PRIMARY KEY, v LONGBLOB)")
    fits, too_long = int(limit * 0.7), int(limit * 0.8)
    fit, large = same.at_source(
        f"INSERT INTO t VALUES (1, REPEAT('x', {fits}))", f"INSERT INTO t VALUES (2, REPEAT('x', {too_long}))"
    )
    sink = same.opened()
    deliver(sink, [fit])
    with pytest.raises(SinkError) as raised:
        deliver(sink, [large])
    assert raised.value.code == "E3426"
    assert "max_allowed_packet" in raised.value.fix
    sink.open(target.term())
    found = same.target.execute(f"SELECT id, LENGTH(v), CRC32(v) FROM {same.there}.t")
    assert found == same.source.execute(f"SELECT id, LENGTH(v), CRC32(v) FROM {same.here}.t WHERE id = 1")


def test_transactions_and_max_binlog_cache_size(same: Pair) -> None:
    """The server's own log refuses the transaction, whatever rows it has."""
    same.both("CREATE TABLE t (id INT PRIMARY KEY, v LONGBLOB)")
    batches = same.at_source("INSERT INTO t VALUES (1, REPEAT('x', 200000))")
    before = same.target.execute("SELECT @@GLOBAL.max_binlog_cache_size")[0][0]
    same.target.execute("SET GLOBAL max_binlog_cache_size = 4096")
    try:
        with pytest.raises(SinkError) as raised:
            deliver(same.opened(), batches)
        assert raised.value.code == "E3426"
        assert "max_binlog_cache_size" in raised.value.fix
    finally:
        same.target.execute(f"SET GLOBAL max_binlog_cache_size = {before}")
    deliver(same.opened(), batches)
    assert same.rows("t")[0] == same.rows("t")[1]


def test_fail_over_to_a_target_that_lacks_transactions(other: Pair, request: pytest.FixtureRequest) -> None:
    """They are sent again, none twice; lastCommit goes back."""
    primary = other.target
    replica = request.getfixturevalue("make_" + primary.release.flavour)()
    other.both("CREATE TABLE t (v INT)")
    replication.follow(replica, primary)
    hosts = (f"127.0.0.1:{primary.port}", f"127.0.0.1:{replica.port}")
    sink = other.sink(host=None, port=None, hosts=hosts)
    sink.open(target.term())
    batches = other.at_source(*[f"INSERT INTO t VALUES ({n})" for n in range(6)])
    deliver(sink, batches[:2])
    replication.await_caught_up(replica, primary)
    replica.execute("STOP SLAVE" if primary.release.flavour == "mariadb" else "STOP REPLICA")
    deliver(sink, batches[2:4])
    known = Checkpoint(batches[3].position, in_sink=True)
    primary.kill()
    replication.promote(replica)
    held = sink.open(target.term())
    assert held == batches[1].position
    begins = authority(held, known, rows=sink.holds_rows)
    assert (begins.file, begins.offset) == (held.file, held.offset)
    deliver(sink, batches[2:])
    assert target.rows(replica, f"{other.there}.t", "v") == [(n,) for n in range(6)]


@pytest.mark.parametrize("apply", ["binlog", "sql"])
def test_rows_of_sessions_without_foreign_key_checks(same: Pair, apply: str) -> None:
    """And those that the source has changed as the effect of a foreign key: in its log on MySQL, not on MariaDB."""
    same.both(
        "CREATE TABLE p (id INT PRIMARY KEY)",
        "CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) "
        "ON UPDATE CASCADE ON DELETE CASCADE)",
    )
    batches = same.at_source(
        "INSERT INTO p VALUES (1), (2), (3)",
        "INSERT INTO c VALUES (1, 1), (2, 2), (3, 3)",
        "UPDATE p SET id = 9 WHERE id = 2",
        "DELETE FROM p WHERE id = 1",
        "SET foreign_key_checks = 0",
        "INSERT INTO c VALUES (4, 77)",
    )
    deliver(same.opened(apply=apply), batches)
    for table in ("p", "c"):
        here, there = same.rows(table)
        assert here == there
    assert [row[1] for row in same.rows("c")[1]] == [9, 3, 77]


def _account(pair: Pair) -> dict[str, Any]:
    """With the least privileges."""
    server = pair.target
    server.execute("CREATE USER applier@'%%' IDENTIFIED BY ''")
    for grant in (*GRANTS[server.release.flavour], f"ALL ON {pair.place}.*"):
        server.execute(f"GRANT {grant} TO applier@'%%'")
    return {"user": "applier"}


def _transaction(pair: Pair, *statements: str) -> Any:
    connection = pair.target.connect(database=pair.there, autocommit=False)
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
    return connection


def test_joined_transactions_are_one(same: Pair) -> None:
    same.both("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    batches = same.at_source(
        *[f"INSERT INTO t VALUES ({n}, {n})" for n in range(20)], "UPDATE t SET v = 5 WHERE id = 7"
    )
    sink = same.opened()
    sequence = same.position()[0][3]
    deliver(sink, [joined(batches)])
    assert same.position()[0][3] == sequence + 1
    here, there = same.rows("t")
    assert here == there
    with contextlib.suppress(SinkError):
        sink.flush(5)
