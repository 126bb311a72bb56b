"""Three tasks of one Core share one dump connection: the source sees one replica, and each task gets its own rows, once
and in order, whatever happens to the shared stream."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from dev.cluster import Cluster, wait_for
from dev.servers import MariaDB, MySQL
from dev.servers.database import Database

pytestmark = pytest.mark.servers
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


@pytest.fixture(params=["mysql", "mariadb"])
def shop(
    request: pytest.FixtureRequest,
    zookeeper: Any,
    make_mysql: Callable[..., MySQL],
    make_mariadb: Callable[..., MariaDB],
    tmp_path: Path,
) -> Iterator[Shop]:
    server = make_mysql() if request.param == "mysql" else make_mariadb()
    os.environ["REPL_PASSWORD"] = server.replicator[1]
    cluster = Cluster(zookeeper.address, tmp_path, root=f"/share-{os.getpid()}-{request.param}")
    cluster.start_server()
    try:
        yield Shop(server, cluster, tmp_path)
    finally:
        cluster.close()


def test_tasks_share_one_dump_connection_and_lose_nothing_when_it_ends(shop: Shop) -> None:
    shop.wait_shared("at first")
    shop.insert(20)
    shop.server.execute("FLUSH BINARY LOGS")
    shop.insert(20)
    shop.wait_delivered("over a rotation")
    assert shop.shared()

    os.kill(shop.relay(), signal.SIGKILL)
    shop.insert(200)
    shop.wait_shared("after the relay was killed")
    shop.insert(5)
    shop.wait_delivered("after the relay was killed")

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

    shop.server.restart()
    shop.insert(5)
    shop.wait_shared("after the source was restarted")
    shop.insert(5)
    shop.wait_delivered("after the source was restarted")

    relay = shop.relay()
    shop.core.terminate()
    wait_for(lambda: not psutil.pid_exists(relay), "the relay ends with its Core", 20)
