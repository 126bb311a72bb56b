"""A whole bus under load, for one test: two Cores, a Server, a task of its own and a writer; at the end the verdict."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dev import plain_http
from dev.checker.history import Seen, Transaction
from dev.checker.verdict import Verdict, judge
from dev.cluster import Cluster, wait_for
from dev.job import Job
from dev.servers import Kafka, MariaDB, MySQL, ZooKeeper
from replicator.config.load import parse_task, to_data
from replicator.coordination.layout import Layout
from replicator.coordination.overview import Overview
from replicator.coordination.records import HistoryRecord
from replicator.coordination.tasks.history import History
from replicator.coordination.tasks.registry import Registry
from replicator.zookeeper.client import ZookeeperCoordinator, connect

SESSION_SECONDS = 2.0

Connect = Callable[..., ZookeeperCoordinator]


class Bus(Job):
    """Args: session_seconds: T of the Cores' sessions; sink, source, settings: keys that replace those of the Kafka
    sink, of the source, of the task."""

    def __init__(
        self,
        zookeeper: ZooKeeper,
        database: MySQL | MariaDB,
        kafka: Kafka,
        folder: Path,
        *,
        session_seconds: float = SESSION_SECONDS,
        sink: dict[str, Any] | None = None,
        source: dict[str, Any] | None = None,
        settings: dict[str, Any] | None = None,
        rate: float = 40,
        first_rows: int = 20,
        root: str = "",
        logins: Mapping[str, dict[str, str]] | None = None,
        admin: Connect = connect,
    ) -> None:
        """first_rows: of the writer, that are delivered before a test begins; root: default: one of its own; logins: of
        the processes; admin: connects this test itself."""
        name = f"bus{uuid.uuid4().hex[:8]}"
        self.session_seconds, self._first_rows = session_seconds, first_rows
        self.layout = Layout(root or f"/{name}")
        self.cluster = Cluster(
            zookeeper.address, folder, session_timeout=session_seconds, root=self.layout.root, logins=logins
        )
        self.coordinator = admin(zookeeper.address, session_timeout=10)
        super().__init__(
            name,
            database,
            kafka,
            Overview(self.coordinator, self.layout),
            sink=sink,
            source=source,
            settings=settings,
            role_folder=self.cluster.role_folder,
            rate=rate,
        )

    def start(self, *hosts: str, how: Mapping[str, dict[str, Any]] | None = None, part: Sequence[str] = ()) -> Bus:
        """`how`: host -> options of `Cluster.core`, its own way to ZooKeeper for instance; `part`: arguments of all."""
        hosts = hosts or ("host-a", "host-b")
        for host in hosts:
            self.cluster.core(host, *part, **(how or {}).get(host, {}))
        self.writer.prepare()
        # As the Server does it, which is started when a test first asks for something.
        Registry(self.coordinator, self.layout).create(self.name, to_data(parse_task(self.task)), "test")
        self.wait_running()
        wait_for(lambda: len(self.look().instances) == len(hosts), "everybody standing", 40)
        self.writer.start()
        self.wait_delivered(self._first_rows)
        return self

    def reconnect(self) -> None:
        """Looks at ZooKeeper through another client."""
        self.coordinator.close()
        self.coordinator = connect(self.cluster.zookeeper, session_timeout=10)
        self.overview = Overview(self.coordinator, self.layout)

    def monitored(self) -> dict[str, Any]:
        """The task as the Monitor shows it."""
        if self.cluster.monitor is None:
            self.cluster.start_monitor()
        tasks: list[dict[str, Any]] = plain_http.get(f"{self.cluster.monitor_url}/api/state").json()["tasks"]
        return next((task for task in tasks if task["name"] == self.name), {})

    def metric(self, name: str) -> float | None:
        """Of this task, as the Monitor tells it."""
        lines = plain_http.get(f"{self.cluster.monitor_url}/metrics").text.splitlines()
        start = f'{name}{{task="{self.name}"}} '
        return next((float(line.removeprefix(start)) for line in lines if line.startswith(start)), None)

    def failed(self, timeout: float = 40.0) -> dict[str, str]:
        """Waits for FAILED, and gives what it is told for: the two are written one after the other, and until then the
        error that was retried before is still there."""

        def told() -> list[dict[str, str]]:
            found = self.look()
            is_told = found.figures is None or found.figures.state == "failed"
            return found.problems if found.state == "failed" and is_told else []

        problems: list[dict[str, str]] = wait_for(told, f"{self.name} failed", timeout)
        return problems[0]

    def verdict_until(self, seen: list[Seen]) -> Verdict:
        """Stops the writer and judges what came before a loss that was to come: of each key, everything up to the last
        change in `seen` must be there, in order and once."""
        highest: dict[int, int] = {}
        for record in seen:
            highest[record.key] = max(record.counter, highest.get(record.key, 0))
        journal = [
            Transaction(t.number, [c for c in t.changes if c.counter <= highest.get(c.key, 0)], t.outcome)
            for t in self.writer.stop()
        ]
        return judge(journal, seen, roles=self.roles())

    def history(self) -> list[HistoryRecord]:
        """Events of the task, newest last."""
        return [entry.record for entry in History(self.coordinator, self.layout).read(self.name)]

    def epochs(self) -> list[int]:
        return sorted({record.epoch for record in self.seen()})

    def takeover_gap(self) -> float:
        """Seconds between the last record of the first epoch and the first record of the last one."""
        seen = self.seen()
        epochs = sorted({record.epoch for record in seen})
        last = max(record.time_ms for record in seen if record.epoch == epochs[0])
        return (min(record.time_ms for record in seen if record.epoch == epochs[-1]) - last) / 1000

    def logs(self) -> str:
        return "\n" + "\n".join(f"--- {name}\n{process.tail(20)}" for name, process in self.cluster.cores.items())

    def close(self) -> None:
        self.writer.close()
        self.cluster.close()
        self.coordinator.close()
        self.database.execute(f"DROP DATABASE IF EXISTS {self.name}")
