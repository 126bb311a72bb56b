"""Tasks of one Core share one dump connection: the source sees one replica, and each task gets its own rows, once and
in order, whatever happens to the shared stream."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from dev.cluster import Cluster, wait_for
from dev.servers import Kafka, MariaDB, MySQL
from dev.servers.authority import Authority
from dev.servers.database import Database
from dev.servers.replication import await_caught_up, follow, make_read_only, promote
from tests.support.consume import read_all

pytestmark = [pytest.mark.servers, pytest.mark.timeout(240)]
TABLES = {"share_a": ["shop.a"], "share_b": ["shop.*", "!shop.c"], "share_c": ["shop.b", "shop.c"]}


class Shop:
    """A source, and three tasks of one Core that read it, each into a file."""

    def __init__(self, server: Database, cluster: Cluster, folder: Path) -> None:
        self.server, self.cluster, self.folder = server, cluster, folder
        self.rows: dict[str, list[int]] = {"a": [], "b": [], "c": []}
        server.execute("CREATE DATABASE shop")
        for table in self.rows:
            server.execute(f"CREATE TABLE shop.{table} (id INT PRIMARY KEY, note LONGTEXT)")
        self.core = cluster.core("host-a", "--file-sink-directory", str(folder))
        for name, tables in TABLES.items():
            cluster.apply(self._task(name, tables))

    def _task(self, name: str, tables: list[str]) -> dict[str, Any]:
        return {
            "name": name,
            "source": {
                "type": self.server.release.flavour,
                "host": self.server.host,
                "port": self.server.port,
                "heartbeat_s": 0.5,
                "user": self.server.replicator[0],
                "password": "env:REPL_PASSWORD",
                "tables": tables,
                "share": "auto",
            },
            "sink": {"type": "file", "path": f"{name}.jsonl", "topic": "{table}"},
            "checkpoint_interval_ms": 200,
        }

    def insert(self, count: int = 1, width: int = 10) -> None:
        """So many transactions, each with a row in every table."""
        connection = self.server.connect(autocommit=False)
        with connection.cursor() as cursor:
            for _ in range(count):
                number = len(self.rows["a"])
                for table, rows in self.rows.items():
                    cursor.execute(f"INSERT INTO shop.{table} VALUES ({number}, REPEAT('x', {width}))")
                    rows.append(number)
                connection.commit()
        connection.close()

    def delivered(self, name: str) -> list[tuple[str, int]]:
        path = self.folder / f"{name}.jsonl"
        lines = path.read_text().splitlines(keepends=True) if path.exists() else []
        records = [json.loads(line) for line in lines if line.endswith("\n")]
        return [(record["topic"], json.loads(record["value"])["after"]["id"]) for record in records]

    def wanted(self, name: str) -> list[tuple[str, int]]:
        mine = [table for table in self.rows if self._has(name, table)]
        return [(table, number) for number in range(len(self.rows["a"])) for table in mine]

    def _complete(self, name: str) -> bool:
        return len(self.delivered(name)) >= len(self.wanted(name))

    @staticmethod
    def _has(name: str, table: str) -> bool:
        return table in {"share_a": "a", "share_b": "ab", "share_c": "bc"}[name]

    def shared(self) -> bool:
        return self.who_shares() == set(TABLES) and self.dumps() == 1

    def who_shares(self) -> set[str]:
        return {task["name"] for task in self.cluster.tasks() if task["state"] == "running" and task["source_shared"]}

    def dumps(self) -> int:
        listed = self.server.execute("SHOW PROCESSLIST")
        return sum(str(row[4]).startswith("Binlog Dump") for row in listed)

    def wait_shared(self, when: str) -> None:
        wait_for(self.shared, f"all share {when}\n{self.core.tail(20)}", 60)

    def wait_delivered(self, when: str) -> None:
        for name in TABLES:
            wait_for(partial(self._complete, name), f"{name} {when}", 60)
            assert self.delivered(name) == self.wanted(name), f"{name} {when}"

    def worker(self, name: str) -> int:
        """Process id."""
        return self._pid("worker started", name)

    def relay(self) -> int:
        """Process id."""
        return self._pid("shared stream started", self.server.address)

    def _pid(self, what: str, whose: str) -> int:
        found = [line for line in self.log().splitlines() if what in line and whose in line]
        return int(re.findall(r"\bpid\W+(\d+)", found[-1])[0])

    def log(self) -> str:
        return self.core.log_path.read_text(errors="replace")


@pytest.fixture
def make_shop(zookeeper: Any, tmp_path: Path) -> Iterator[Callable[[Database], Shop]]:
    with contextlib.ExitStack() as made:

        def make(server: Database) -> Shop:
            os.environ["REPL_PASSWORD"] = server.replicator[1]
            cluster = Cluster(zookeeper.address, tmp_path, root=f"/share-{uuid.uuid4().hex[:8]}")
            made.callback(cluster.close)
            cluster.start_server()
            return Shop(server, cluster, tmp_path)

        yield make


MakeShop = Callable[[Database], Shop]


def cut(shop: Shop) -> None:
    shop.wait_shared("at first")
    shop.insert(20)
    shop.server.execute("FLUSH BINARY LOGS")
    shop.insert(20)
    shop.wait_delivered("over a rotation")
    assert shop.shared()
    killed = shop.relay()
    os.kill(killed, signal.SIGKILL)
    shop.insert(50)
    wait_for(lambda: shop.relay() != killed, "another relay", 60)
    shop.wait_shared("after the relay was killed")
    shop.insert(5)
    shop.wait_delivered("after the relay was killed")
    shop.wait_shared("with all rows delivered")  # until then figures and dumps can be those of the killed one


def test_140_141_the_shared_connection_is_cut_and_a_task_falls_behind(
    make_shop: MakeShop, make_mysql: Callable[..., MySQL]
) -> None:
    shop = make_shop(make_mysql())
    cut(shop)

    slow = shop.worker("share_a")
    os.kill(slow, signal.SIGSTOP)
    try:
        shop.insert(12, width=1 << 20)  # more than the ring holds
        wait_for(lambda: len(shop.delivered("share_c")) == len(shop.wanted("share_c")), "the others go on", 60)
    finally:
        os.kill(slow, signal.SIGCONT)
    wait_for(lambda: "too slow" in shop.log(), "the slow one has left", 60)
    shop.insert(5)
    shop.wait_shared("once the slow one has caught up")
    assert shop.worker("share_a") == slow
    shop.insert(5)
    shop.wait_delivered("at the end")

    relay = shop.relay()
    shop.core.terminate()
    wait_for(lambda: not psutil.pid_exists(relay), "the relay ends with its Core", 20)


def test_140_the_shared_connection_to_mariadb_is_cut(make_shop: MakeShop, make_mariadb: Callable[..., MariaDB]) -> None:
    cut(make_shop(make_mariadb()))


class Encrypted:
    """Two tasks that read a group of two servers over TLS and write into Kafka exactly once, and two Cores."""

    NAMES = ("safe_a", "safe_b")

    def __init__(self, servers: tuple[Database, Database], ca: Path, kafka: Kafka, cluster: Cluster) -> None:
        self.server, self.other = servers
        self.cluster, self._kafka, self._count = cluster, kafka, 0
        self.topic = f"safe{uuid.uuid4().hex[:8]}"
        self.server.execute("CREATE DATABASE shop")
        self.server.execute("CREATE TABLE shop.a (id INT PRIMARY KEY)")
        self.server.execute(f"ALTER USER {self.server.replicator[0]}@'%' REQUIRE SSL")
        await_caught_up(self.other, self.server)
        cluster.core("host-a")
        for name in self.NAMES:
            cluster.apply(self._task(name, [one.address for one in servers], ca))
        self.wait_shared("host-a")
        cluster.core("host-b")
        wait_for(lambda: all(len(task["instances"]) == 2 for task in cluster.tasks()), "host-b on standby", 60)

    def _task(self, name: str, hosts: list[str], ca: Path) -> dict[str, Any]:
        source = {
            "type": "mysql",
            "hosts": hosts,
            "heartbeat_s": 0.5,
            "connect_timeout_s": 2,
            "user": self.server.replicator[0],
            "password": "env:REPL_PASSWORD",
            "tables": ["shop.a"],
            "share": "auto",
            "tls": {"ca": str(ca)},
        }
        brokers = self._kafka.address.split(",")
        sink = {"type": "kafka", "bootstrap_servers": brokers, "topic": f"{self.topic}.{name}", "partitions": 1}
        return {"name": name, "source": source, "sink": {**sink, "delivery": "exactly_once"}}

    def insert(self, count: int) -> None:
        for _ in range(count):
            self.server.execute(f"INSERT INTO shop.a VALUES ({self._count})")
            self._count += 1

    def _shared(self, host: str) -> bool:
        tasks = self.cluster.tasks()
        return all((task["state"], task["host"], task["source_shared"]) == ("running", host, True) for task in tasks)

    def wait_shared(self, host: str) -> None:
        wait_for(lambda: self._shared(host), f"both share on {host}\n{self.cluster.tasks()}", 90)

    def _delivered(self, name: str) -> list[int]:
        found = read_all(self._kafka.address, f"{self.topic}.{name}")
        return [json.loads(one.value)["after"]["id"] for one in found if one.value]

    def _complete(self, name: str) -> bool:
        return len(self._delivered(name)) >= self._count

    def wait_delivered(self) -> None:
        for name in self.NAMES:
            wait_for(partial(self._complete, name), f"{name}: {self._count} rows", 60)
            assert self._delivered(name) == list(range(self._count)), name


def test_142_the_owner_of_the_shared_connection_is_killed_and_the_source_fails_over(
    zookeeper: Any, kafka: Kafka, make_mysql: Callable[..., MySQL], tmp_path: Path
) -> None:
    """Exactly once into Kafka, over TLS: the tasks share again on the other Core, and at the new primary."""
    authority = Authority(tmp_path, "ours")
    certificate, key = authority.leaf("127.0.0.1")
    tls = [f"--ssl-ca={authority.ca}", f"--ssl-cert={certificate}", f"--ssl-key={key}"]
    primary, replica = make_mysql(server_id=921, extra_args=tls), make_mysql(server_id=922, extra_args=tls)
    follow(replica, primary)
    os.environ["REPL_PASSWORD"] = primary.replicator[1]
    cluster = Cluster(zookeeper.address, tmp_path, session_timeout=4, root=f"/safe-{uuid.uuid4().hex[:8]}")
    try:
        cluster.start_server()
        bus = Encrypted((primary, replica), authority.ca, kafka, cluster)
        bus.insert(10)
        cluster.cores["host-a"].kill()
        bus.insert(10)
        bus.wait_shared("host-b")
        bus.insert(5)
        bus.wait_delivered()

        make_read_only(primary)
        await_caught_up(replica, primary)
        promote(replica)
        bus.server = replica
        primary.kill()
        bus.insert(10)
        bus.wait_delivered()
        bus.wait_shared("host-b")
        bus.insert(5)
        bus.wait_delivered()
    finally:
        cluster.close()
