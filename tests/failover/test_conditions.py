"""Schema, accounts, configuration, certificates, other processes: what else changes under a running task."""

from __future__ import annotations

import contextlib
import json
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pymysql
import pytest

from dev.cluster import wait_for
from dev.errors import ServerFailed
from dev.servers import MySQL
from dev.servers.authority import Authority
from replicator.cli.task.client import Client
from replicator.coordination.records import CommitRecord, dump
from replicator.errors import ReplicatorError
from tests.failover.bus import Bus
from tests.support.settings import set_global

pytestmark = pytest.mark.timeout(240)
MakeBus = Callable[..., Bus]


def clean(bus: Bus, more: int = 50, timeout: float = 60) -> None:
    bus.wait_delivered(more, timeout=timeout)
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)


def rows_of(bus: Bus, table: str) -> list[dict[str, Any]]:
    """The images after, in the order of the table's topic."""
    found = [record for record in bus.records(table) if record.value]
    return [json.loads(record.value)["after"] for record in sorted(found, key=lambda r: r.offset)]


def test_39_columns_change_under_load(make_bus: MakeBus) -> None:
    bus = make_bus()
    table = f"{bus.name}.hot_item"
    for change in (
        "ADD COLUMN extra INT NULL, ALGORITHM=INSTANT",
        "ADD COLUMN first_one INT NOT NULL DEFAULT 7 FIRST",
        "RENAME COLUMN extra TO renamed",
        "MODIFY renamed VARCHAR(20) NULL",
        "DROP COLUMN first_one, DROP COLUMN renamed",
    ):
        bus.database.execute(f"ALTER TABLE {table} {change}")
        bus.wait_delivered(15)
    bus.database.execute(f"CREATE TABLE {bus.name}.swapped LIKE {table}")
    bus.database.execute(f"DROP TABLE {bus.name}.swapped")
    clean(bus)


def test_40_rows_of_before_a_change_are_read_with_the_columns_of_then(make_bus: MakeBus) -> None:
    bus = make_bus()
    table = f"{bus.name}.old"
    bus.database.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, a INT, b VARCHAR(9))")
    bus.cluster.cli("task", "pause", bus.name)
    wait_for(lambda: bus.look().state == "paused", "paused", 20)
    bus.database.execute(f"INSERT INTO {table} VALUES (1, 10, 'x')")
    bus.database.execute(f"ALTER TABLE {table} DROP COLUMN a, ADD COLUMN c INT AFTER id")
    bus.database.execute(f"INSERT INTO {table} VALUES (2, 20, 'y')")
    bus.database.execute(f"ALTER TABLE {table} RENAME TO {bus.name}.new")
    bus.cluster.cli("task", "resume", bus.name)
    bus.wait_running()
    wait_for(lambda: len(rows_of(bus, "old")) == 2, "both rows", 30)
    assert rows_of(bus, "old") == [{"id": 1, "a": 10, "b": "x"}, {"id": 2, "c": 20, "b": "y"}]
    clean(bus)


def test_40_a_fork_behind_a_swap_names_no_row_wrongly(make_bus: MakeBus, mysql: MySQL, tmp_path: Path) -> None:
    """Names are not logged, and the definitions of the new task are read when the tables have changed places."""
    with set_global(mysql, "binlog_row_metadata", "'MINIMAL'"):
        bus = make_bus()
        one, two, new = f"{bus.name}.one", f"{bus.name}.two", f"{bus.name}_fork"
        bus.database.execute(f"CREATE TABLE {one} (id INT PRIMARY KEY, a INT)")
        bus.database.execute(f"CREATE TABLE {two} (id INT PRIMARY KEY, b INT)")
        bus.cluster.cli("task", "pause", bus.name)
        wait_for(lambda: bus.look().state == "paused", "paused", 20)
        bus.database.execute(f"INSERT INTO {one} VALUES (1, 1)")
        bus.database.execute(f"RENAME TABLE {one} TO {bus.name}.x, {two} TO {one}, {bus.name}.x TO {two}")
        bus.database.execute(f"INSERT INTO {one} VALUES (2, 2)")
        bus.cluster.cli("task", "fork", bus.name, new)
        wait_for(lambda: bus.overview.task(new).state == "failed", lambda: f"{new} failed{bus.logs()}", 60)
        (problem,) = wait_for(lambda: bus.overview.task(new).problems, "the reason", 20)
        assert problem["code"] == "E2306"
        assert "RENAME TABLE" in problem["found"]
        assert rows_of(bus, "one") == []
        for table, column in ((one, "a"), (two, "b")):
            definition = tmp_path / f"{column}.sql"
            definition.write_text(f"CREATE TABLE {table} (id INT PRIMARY KEY, {column} INT)")
            bus.cluster.cli("task", "schema", new, "--set-table", str(definition))
        bus.cluster.cli("task", "retry", new)
        wait_for(lambda: len(rows_of(bus, "one")) == 2, lambda: f"both rows{bus.logs()}", 40)
        assert rows_of(bus, "one") == [{"id": 1, "a": 1}, {"id": 2, "b": 2}]
        bus.cluster.cli("task", "delete", new, "--yes")


@pytest.fixture
def account(mysql: MySQL) -> Iterator[str]:
    """An account of this test alone, with the password `first`."""
    name = f"u{uuid.uuid4().hex[:8]}"
    mysql.execute(f"CREATE USER {name} IDENTIFIED BY 'first'")
    mysql.execute(f"GRANT REPLICATION SLAVE, REPLICATION CLIENT, SELECT ON *.* TO {name}")
    yield name
    mysql.execute(f"DROP USER {name}")


def kill_dumps(bus: Bus, user: str) -> None:
    for row in bus.database.execute("SHOW PROCESSLIST"):
        if row[1] == user:
            with contextlib.suppress(pymysql.err.OperationalError):  # it has ended meanwhile
                bus.database.execute(f"KILL {row[0]}")


def refused_logins(server: MySQL, user: str) -> int:
    """Of those since the general log was switched on."""
    find = "SELECT COUNT(*) FROM mysql.general_log WHERE CONVERT(argument USING utf8mb4) LIKE %s"
    return int(server.execute(find, (f"Access denied for user '{user}'%",))[0][0])


def test_48_a_rotated_password_is_read_anew(make_bus: MakeBus, account: str, mysql: MySQL, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("first")
    bus = make_bus(source={"user": account, "password": f"file:{secret}"})
    mysql.execute("SET GLOBAL log_output = 'TABLE'")
    mysql.execute("SET GLOBAL general_log = ON")
    bus.database.execute(f"ALTER USER {account} IDENTIFIED BY 'second'")
    kill_dumps(bus, account)
    problem = bus.failed(90)  # it waits half a minute for the new secret
    assert problem["code"] == "E2101" and "first" not in json.dumps(problem)
    time.sleep(3)
    mysql.execute("SET GLOBAL general_log = OFF")
    assert 1 <= refused_logins(mysql, account) <= 3, "so few that no account is locked for them"
    secret.write_text("second")
    bus.cluster.cli("task", "retry", bus.name)
    bus.wait_running()
    clean(bus)


def test_49_a_grant_that_is_taken_away_is_named(make_bus: MakeBus, account: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("first")
    bus = make_bus(source={"user": account, "password": f"file:{secret}"})
    bus.database.execute(f"REVOKE REPLICATION SLAVE ON *.* FROM {account}")
    kill_dumps(bus, account)
    problem = bus.failed(30)
    assert problem["code"] == "E2104" and "REPLICATION SLAVE" in problem["fix"]
    bus.database.execute(f"GRANT REPLICATION SLAVE ON *.* TO {account}")
    bus.cluster.cli("task", "retry", bus.name)
    bus.wait_running()
    clean(bus)


@pytest.mark.parametrize(
    "garbage",
    [b"", b"\xff\xfe", b"{", b"[" * 100_000, b'{"v":1,"uid":"x","config":{"name":5}}', b"x" * 900_000],
    ids=["empty", "not UTF-8", "cut short", "deep", "wrong types", "large"],
)
def test_50_a_config_nobody_understands_leaves_the_good_one(make_bus: MakeBus, garbage: bytes) -> None:
    bus = make_bus()
    path = bus.layout.task(bus.name)
    good = bus.coordinator.get(path).data
    bus.coordinator.set(path, garbage)
    bus.wait_delivered(30)
    wait_for(lambda: bus.look().problems, "the problem to be shown", 20)
    assert all(process.running for process in bus.cluster.cores.values())
    bus.coordinator.set(path, good)
    clean(bus)


def test_51_of_many_operators_nobody_overwrites_another_unseen(make_bus: MakeBus) -> None:
    """Two who have seen the same: the second is refused. Then six at once, each of whom looks and writes: whoever is
    not refused counts once, however they meet."""
    bus = make_bus()

    def apply(number: int) -> str:
        path = bus.cluster.folder / f"apply-{number}.json"
        path.write_text(json.dumps({**bus.task, "checkpoint_interval_ms": 1000 + number}))
        try:
            return bus.cluster.cli("task", "apply", "-f", str(path))
        except ServerFailed as error:
            return str(error)

    bus.cluster.start_server()
    mine = Client(bus.cluster.server_url, bus.cluster.token)
    seen = mine.task(bus.name)["version"]
    changed = {number: json.dumps({**bus.task, "checkpoint_interval_ms": number}).encode() for number in (400, 500)}
    mine.replace(bus.name, changed[400], seen, False)
    with pytest.raises(ReplicatorError) as refused:
        mine.replace(bus.name, changed[500], seen, False)
    assert refused.value.code == "E4006"
    before = bus.look().config_version
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(apply, range(6)))
    done = [answer for answer in answers if "configured" in answer]
    assert done and all("configured" in answer or "E4006" in answer for answer in answers), answers
    assert bus.look().config_version == before + len(done)
    clean(bus)


def test_55_certificates_expire_change_hands_and_are_for_another_host(
    make_bus: MakeBus, make_mysql: Callable[..., MySQL], tmp_path: Path
) -> None:
    ours = Authority(tmp_path, "ours")
    certificate, key = ours.leaf("127.0.0.1")
    server = make_mysql(extra_args=[f"--ssl-ca={ours.ca}", f"--ssl-cert={certificate}", f"--ssl-key={key}"])
    bus = make_bus("host-a", database=server, source={"tls": {"ca": str(ours.ca)}})
    wait_for(lambda: "ends in 0.0 days" in bus.cluster.cores["host-a"].tail(100), "the warning of 14 days ahead", 20)
    shown = wait_for(lambda: (found := bus.monitored()).get("certificate_ms") and found, "the Monitor's alarm", 40)
    assert any("the certificate of" in note and " expires in " in note for note in shown["notes"]), shown["notes"]
    assert shown["tone"] == "warn"
    assert bus.metric("bus_certificate_expiry_timestamp_seconds") == shown["certificate_ms"] / 1000

    def serve(host: str, lasts: timedelta, authority: Authority) -> None:
        """The server's files are replaced, and it reads them anew; connections that stand are ended."""
        for new, old in zip(authority.leaf(host, lasts), (certificate, key), strict=True):
            if new != old:
                shutil.copyfile(new, old)
        server.execute("ALTER INSTANCE RELOAD TLS")
        if lasts < timedelta(minutes=1):
            time.sleep(lasts.total_seconds() + 1)  # MySQL takes none that has expired; it expires while it serves
        kill_dumps(bus, server.replicator[0])

    for host, lasts in (("127.0.0.1", timedelta(seconds=3)), ("192.0.2.1", timedelta(hours=1))):
        serve(host, lasts, ours)
        assert bus.failed()["code"] == "E2102"
        serve("127.0.0.1", timedelta(hours=1), ours)
        bus.cluster.cli("task", "retry", bus.name)
        bus.wait_running()
        bus.wait_delivered(10)
    heirs = Authority(tmp_path, "heirs")
    with ours.ca.open("ab") as trusted:  # both, as one does it; nothing of ours is restarted
        trusted.write(heirs.ca.read_bytes())
    serve("127.0.0.1", timedelta(hours=1), heirs)
    clean(bus)


def test_56_a_task_that_we_may_not_read_is_no_missing_task(make_bus: MakeBus) -> None:
    from kazoo.client import KazooClient
    from kazoo.security import OPEN_ACL_UNSAFE, make_digest_acl

    bus = make_bus()
    client = KazooClient(hosts=bus.cluster.zookeeper)
    client.start()
    try:
        client.add_auth("digest", "nobody:else")
        path = bus.layout.task(bus.name)
        client.set_acls(path, [make_digest_acl("nobody", "else", all=True)])
        cores = bus.cluster.cores.values()
        denied = f"ZooKeeper refuses access to {path}"
        wait_for(lambda: all("E4007" in p.tail(50) and denied in p.tail(50) for p in cores), "every Core to say so", 20)
        assert all(process.running for process in cores)
        [shown] = [item for item in bus.cluster.tasks() if item["name"] == bus.name]
        assert "E4007" in json.dumps(shown), shown
        wait_for(lambda: "E4007" in json.dumps(bus.monitored()), "the Monitor to say so", 20)
        client.set_acls(path, OPEN_ACL_UNSAFE)
    finally:
        client.stop()
        client.close()
    bus.wait_running(timeout=60)
    clean(bus)


def test_57_the_server_dies_and_the_cores_go_on(make_bus: MakeBus) -> None:
    bus = make_bus()
    bus.cluster.start_server().kill()
    bus.wait_delivered(50)
    with pytest.raises(ServerFailed, match=r"exit status 5.*E5005"):
        bus.cluster.cli("task", "get")
    leader = bus.look().host
    bus.cluster.cores[leader].kill()
    bus.wait_running(other_than=leader)
    clean(bus)


def test_61_a_newer_format_is_refused_and_not_overwritten(make_bus: MakeBus) -> None:
    bus = make_bus()
    leader = bus.look().host
    commit = bus.look().last_commit
    assert commit is not None
    path = bus.layout.last_commit(bus.name)
    for process in bus.cluster.cores.values():
        process.terminate()
    ours = bus.coordinator.get(path).data
    newer = dump(CommitRecord(v=99, epoch=commit.epoch, checkpoint=commit.checkpoint))
    bus.coordinator.set(path, newer)
    bus.cluster.core(leader)
    assert bus.failed()["code"] == "E4010"
    assert bus.coordinator.get(path).data == newer
    bus.coordinator.set(path, ours)
    bus.cluster.cli("task", "retry", bus.name)
    bus.wait_running()
    clean(bus)
