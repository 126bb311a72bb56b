"""A snapshot of a read-only replica with the least privileges, under either isolation level, while it is written."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from dev.cluster import wait_for
from dev.servers.database import Database
from dev.servers.replication import await_caught_up, follow
from tests.integration.test_snapshots import Copy
from tests.support.changes import Changes, contents, fill

pytestmark = [pytest.mark.servers, pytest.mark.timeout(120)]
ROWS = 1500
TABLES = ("a", "b", "c")
READS = ("SELECT", "SHOW", "SET", "START TRANSACTION", "COMMIT", "ROLLBACK", "BEGIN", "USE")
_OF_THE_STREAM = (
    "Connect",
    "Quit",
    "Binlog Dump",
    "Binlog Dump GTID",
    "Register Replica",
    "Register Slave",
    "Ping",
    "Close stmt",
)
_PARALLEL = {
    "mysql": ["--replica-parallel-workers=4", "--replica-preserve-commit-order=OFF"],
    "mariadb": ["--slave-parallel-threads=4", "--slave-parallel-mode=optimistic", "--log-slave-updates"],
}


def group(request: pytest.FixtureRequest, flavour: str, level: str) -> tuple[Database, Database, Copy]:
    """A primary with three tables, its replica, and a task that reads the replica as an account that may not write."""
    make: Callable[..., Database] = request.getfixturevalue(f"make_{flavour}")
    primary, replica = make(), make(extra_args=[*_PARALLEL[flavour], f"--transaction-isolation={level}"])
    follow(replica, primary)
    primary.execute("CREATE DATABASE shop")
    for table in TABLES:
        fill(primary, f"shop.{table}", ROWS)
    primary.execute("CREATE USER reader IDENTIFIED BY 'replicator'")
    primary.execute("GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO reader")
    primary.execute("GRANT SELECT ON shop.* TO reader")
    await_caught_up(replica, primary)
    copy = Copy(replica, "copy", ["shop.*"], chunk_rows=100)
    copy.data["source"]["user"] = "reader"
    return primary, replica, copy


@pytest.mark.parametrize("level", ["READ-COMMITTED", "REPEATABLE-READ"])
@pytest.mark.parametrize("flavour", ["mysql", "mariadb"])
def test_a_replica_that_applies_in_parallel(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, flavour: str, level: str
) -> None:
    monkeypatch.setenv("TEST_PASSWORD", "replicator")
    primary, replica, copy = group(request, flavour, level)
    replica.execute("SET GLOBAL log_output = 'TABLE'")
    replica.execute("SET GLOBAL general_log = ON")
    with contextlib.ExitStack() as writers:
        for seed, table in enumerate(TABLES):
            writers.enter_context(Changes(primary, f"shop.{table}", ROWS + 50, seed, pause=0.001))
        copy.run()
    await_caught_up(replica, primary)
    copy.run()
    for table in TABLES:
        copied = copy.copied(table)
        assert copied.rows == contents(primary, f"shop.{table}") == contents(replica, f"shop.{table}")
        assert copied.backwards == [] and len(copied.read) == len(set(copied.read))
    assert written(replica) == []


def written(server: Database) -> list[Any]:
    """Statements of the account that are not known to read."""
    rows = server.execute(
        "SELECT DISTINCT command_type, CONVERT(argument USING utf8mb4) FROM mysql.general_log "
        "WHERE user_host LIKE 'reader%%'"
    )
    assert len(rows) > 20
    return [row for row in rows if row[0] not in _OF_THE_STREAM and not str(row[1]).upper().startswith(READS)]


def test_a_gap_in_what_a_replica_has_executed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A transaction waits for a lock there while later ones are committed: the snapshot does not need it."""
    monkeypatch.setenv("TEST_PASSWORD", "replicator")
    primary, replica, copy = group(request, "mysql", "READ-COMMITTED")
    locker = replica.connect(autocommit=False)
    with locker, locker.cursor() as cursor:
        cursor.execute("SELECT * FROM shop.a WHERE id = 7 FOR SHARE")
        primary.execute("UPDATE shop.a SET version = 1 WHERE id = 7")
        for key in range(20):
            primary.execute(f"UPDATE shop.b SET version = 2 WHERE id = {key}")
        wait_for(lambda: replica.execute("SELECT COUNT(*) FROM shop.b WHERE version = 2") == [(20,)], "them", 20)
        copy.run()
        last = copy.store.load()
        assert last is not None and last.position.snapshot is not None and last.position.snapshot.ended_ms
        assert last.position.gtid.count(":") == 2, "the set has a gap"
        assert copy.copied("a").rows[7]["version"] == 0 and copy.copied("b").rows[7]["version"] == 2
    await_caught_up(replica, primary)
    copy.run()
    for table in TABLES:
        assert copy.copied(table).rows == contents(primary, f"shop.{table}")
