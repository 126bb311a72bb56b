"""A whole bus under load, for one test: two Cores, a Server, a task of its own and a writer; at the end the verdict."""

from __future__ import annotations

import contextlib
import os
import uuid
from pathlib import Path
from typing import Any

from dev.checker import consumer
from dev.checker.history import Seen
from dev.checker.verdict import Verdict, compare, judge, rebuilt
from dev.checker.writer import Writer
from dev.cluster import Cluster, wait_for
from dev.errors import ServerFailed
from dev.servers import Kafka, MariaDB, MySQL, ZooKeeper
from replicator.coordination.layout import Layout
from replicator.coordination.overview import Overview, TaskOverview
from replicator.zookeeper.client import connect

SESSION_SECONDS = 2.0


class Bus:
    """Args: session_seconds: T of the Cores' sessions; sink: keys that replace those of the Kafka sink."""

    def __init__(
        self,
        zookeeper: ZooKeeper,
        database: MySQL | MariaDB,
        kafka: Kafka,
        folder: Path,
        *,
        session_seconds: float = SESSION_SECONDS,
        sink: dict[str, Any] | None = None,
        rate: float = 80,
    ) -> None:
        self.name = f"bus{uuid.uuid4().hex[:8]}"
        self.session_seconds = session_seconds
        self.database, self.kafka = database, kafka
        os.environ["REPL_PASSWORD"] = database.replicator[1]
        self.layout = Layout(f"/{self.name}")
        self.cluster = Cluster(zookeeper.address, folder, session_timeout=session_seconds, root=self.layout.root)
        self.writer = Writer(database, database=self.name, rate=rate)
        self.coordinator = connect(zookeeper.address, session_timeout=10)
        self.overview = Overview(self.coordinator, self.layout)
        self._sink = sink or {}
        self._topics = f"{self.name}.topic."

    def start(self, *hosts: str) -> Bus:
        self.cluster.start_server()
        for host in hosts or ("host-a", "host-b"):
            self.cluster.core(host)
        self.writer.prepare()
        self.cluster.apply(self.task)
        self.wait_running()
        self.writer.start()
        self.wait_delivered(20)
        return self

    @property
    def task(self) -> dict[str, Any]:
        user, _ = self.database.replicator
        return {
            "name": self.name,
            "source": {
                "type": "mysql" if isinstance(self.database, MySQL) else "mariadb",
                "host": self.database.host,
                "port": self.database.port,
                "user": user,
                "password": "env:REPL_PASSWORD",
                "tables": [f"{self.name}.*"],
                "heartbeat_s": 1,
            },
            "sink": {
                "type": "kafka",
                "bootstrap_servers": [self.kafka.address],
                "topic": self._topics + "{table}",
                "partitions": 3,
                "delivery": "exactly_once",
                **self._sink,
            },
            "checkpoint_interval_ms": 300,
        }

    def look(self) -> TaskOverview:
        return self.overview.task(self.name)

    def wait_running(self, *, other_than: str = "", timeout: float = 40.0) -> TaskOverview:
        """Until a host that is not `other_than` leads and its stream is open."""

        def running() -> TaskOverview | None:
            found = self.look()
            return found if found.state == "running" and found.host != other_than else None

        return wait_for(running, f"{self.name} running, not on '{other_than}': {self.cluster_logs()}", timeout)

    def wait_standby(self, host: str, timeout: float = 40.0) -> None:
        wait_for(lambda: any(i.host == host for i in self.look().standbys), f"{host} standing by", timeout)

    def wait_delivered(self, more: int, timeout: float = 40.0) -> None:
        """Until `more` records than now are visible to a read_committed consumer."""
        before = len(self.seen())
        wait_for(lambda: len(self.seen()) >= before + more, f"{more} more records", timeout, every=0.3)

    def seen(self) -> list[Seen]:
        return consumer.seen(self._records())

    def _records(self) -> list[Any]:
        return consumer.read_topics(self.kafka.address, lambda topic: topic.startswith(self._topics))

    def verdict(self, timeout: float = 40.0) -> Verdict:
        """Stops the writer, waits for the rest to arrive, and judges: history, and the table rebuilt from the topic."""
        journal = self.writer.stop()
        wanted = {(c.key, c.counter) for t in journal if t.outcome == "committed" for c in t.changes}

        def arrived() -> bool:
            return wanted <= {(record.key, record.counter) for record in self.seen()}

        with contextlib.suppress(ServerFailed):  # the verdict names what is missing
            wait_for(arrived, "everything to arrive", timeout, every=0.5)
        records = self._records()
        verdict = judge(journal, consumer.seen(records))
        verdict.differing = compare(self.writer.rows(), rebuilt(consumer.latest_rows(records)))
        return verdict

    def epochs(self) -> list[int]:
        return sorted({record.epoch for record in self.seen()})

    def takeover_gap(self) -> float:
        """Seconds between the last record of the first epoch and the first record of the last one."""
        seen = self.seen()
        epochs = sorted({record.epoch for record in seen})
        last = max(record.time_ms for record in seen if record.epoch == epochs[0])
        return (min(record.time_ms for record in seen if record.epoch == epochs[-1]) - last) / 1000

    def cluster_logs(self) -> str:
        return "\n".join(f"--- {name}\n{process.tail(8)}" for name, process in self.cluster.cores.items())

    def close(self) -> None:
        self.writer.close()
        self.cluster.close()
        self.coordinator.close()
        self.database.execute(f"DROP DATABASE IF EXISTS {self.name}")
