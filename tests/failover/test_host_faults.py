"""What one host lacks and another has: room on a disk, a login that the server accepts."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dev.cluster import Cluster, wait_for
from dev.faults.island import Island
from dev.faults.small_disk import SmallDisk
from dev.servers import Kafka, MySQL, ZooKeeper
from replicator.coordination.tasks.history import History
from tests.failover.bus import Bus

pytestmark = [
    pytest.mark.timeout(240),
    pytest.mark.skipif(os.geteuid() != 0, reason="a small disk and a network of its own need root"),
]
MakeBus = Callable[..., Bus]
QUICK = {"hand_over_after_s": 2}


def gave_up(bus: Bus) -> list[str]:
    entries = History(bus.coordinator, bus.layout).read(bus.name)
    return [entry.record.reason for entry in entries if entry.record.kind == "gave up"]


def clean(bus: Bus) -> None:
    bus.wait_delivered(50)
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)


def test_92_the_rows_of_a_large_transaction_have_no_room_on_one_host(make_bus: MakeBus, tmp_path: Path) -> None:
    """Rows of a prepared transaction wait for its end, beyond 32 MB in a temporary file."""
    with SmallDisk(tmp_path / "small", 1 << 20) as disk:
        # A short session is lost on a busy machine before the disk is full: then nobody gives the task up.
        how = {"host-a": {"environment": {"TMPDIR": str(disk.folder)}}}
        bus = make_bus("host-a", how=how, settings=QUICK, session_seconds=8.0)
        bus.cluster.core("host-b")
        bus.wait_standby("host-b")
        bus.database.execute(f"CREATE TABLE {bus.name}.big (id INT PRIMARY KEY, note LONGTEXT)")
        connection = bus.database.connect(database=bus.name)
        with connection.cursor() as cursor:
            for statement in ("XA START 'large'", *inserts(200), "XA END 'large'", "XA PREPARE 'large'"):
                cursor.execute(statement)
        connection.close()
        bus.database.execute("XA COMMIT 'large'")
        bus.wait_running(other_than="host-a", timeout=60)
        assert [reason.partition(";")[0] for reason in gave_up(bus)] == ["E2311 on this host"]
        rows = wait_for(lambda: found if len(found := bus.records("big")) >= 200 else [], "the large transaction", 60)
        assert sorted(json.loads(row.key)["id"] for row in rows) == list(range(200))
        clean(bus)


def inserts(rows: int) -> list[str]:
    return [f"INSERT INTO big VALUES ({number}, REPEAT('x', 200000))" for number in range(rows)]


def test_92_an_account_that_is_bound_to_another_host(
    make_bus: MakeBus, zookeeper: ZooKeeper, kafka: Kafka, mysql: MySQL
) -> None:
    """The standby's connections come from 127.0.0.2, the only address that the account is left with."""
    user = f"u{uuid.uuid4().hex[:8]}"
    mysql.execute(f"CREATE USER {user}@'%' IDENTIFIED BY 'first'")
    mysql.execute(f"GRANT REPLICATION SLAVE, REPLICATION CLIENT, SELECT ON *.* TO {user}@'%'")
    doors = {"zookeeper": zookeeper.port, "kafka": kafka.port, "mysql": mysql.port}
    os.environ["REPL_BOUND"] = "first"
    with Island(doors, "127.0.0.2") as island:
        bus = make_bus("host-a", source={"user": user, "password": "env:REPL_BOUND"}, settings=QUICK)
        bus.cluster.core("host-b", prefix=island.enter)
        bus.wait_standby("host-b")
        mysql.execute(f"RENAME USER {user}@'%' TO {user}@'127.0.0.2'")
        for row in mysql.execute("SHOW PROCESSLIST"):
            if row[1] == user:
                mysql.execute(f"KILL {row[0]}")
        bus.wait_running(other_than="host-a", timeout=60)
        assert [reason.partition(";")[0] for reason in gave_up(bus)] == ["E2101 on this host"]
        clean(bus)
        bus.cluster.close()
    mysql.execute(f"DROP USER {user}@'127.0.0.2'")


@pytest.fixture
def cluster(zookeeper: ZooKeeper, tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(zookeeper.address, tmp_path, session_timeout=2.0, root=f"/full{uuid.uuid4().hex[:8]}")
    yield made
    made.close()


def test_92_the_disk_of_a_file_sink_is_full_on_one_host(
    cluster: Cluster, mysql: MySQL, database: str, tmp_path: Path
) -> None:
    """Each host has a file of its own below --file-sink-directory; together they hold each row once."""
    os.environ["REPL_PASSWORD"] = mysql.replicator[1]
    mysql.execute(f"CREATE TABLE {database}.item (id INT PRIMARY KEY, note TEXT)")
    folders = {"host-a": tmp_path / "small", "host-b": tmp_path / "large"}
    folders["host-b"].mkdir()

    def delivered(host: str) -> list[int]:
        path = folders[host] / "out.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return [json.loads(json.loads(line)["value"])["after"]["id"] for line in lines]

    def running(host: str) -> bool:
        tasks = {task["name"]: task for task in cluster.tasks()}
        return bool(tasks[database]["state"] == "running" and tasks[database]["host"] == host)

    with SmallDisk(folders["host-a"], 64 << 10):
        cluster.core("host-a", "--file-sink-directory", str(folders["host-a"]))
        cluster.apply(
            {
                "name": database,
                "source": {
                    "type": "mysql",
                    "host": mysql.host,
                    "port": mysql.port,
                    "heartbeat_s": 1,
                    "user": mysql.replicator[0],
                    "password": "env:REPL_PASSWORD",
                    "tables": [f"{database}.*"],
                },
                "sink": {"type": "file", "path": "out.jsonl", "topic": "{table}"},
                **QUICK,
            }
        )
        wait_for(lambda: running("host-a"), "host-a running", 40)
        cluster.core("host-b", "--file-sink-directory", str(folders["host-b"]))
        for number in range(100):
            mysql.execute(f"INSERT INTO {database}.item VALUES ({number}, REPEAT('x', 2000))")
        wait_for(lambda: running("host-b"), "host-b running", 60)
        wait_for(lambda: 99 in delivered("host-b"), "all rows", 40)
        assert delivered("host-a") + delivered("host-b") == list(range(100))
        assert delivered("host-a"), "the disk was not full at once"
        cluster.close()
