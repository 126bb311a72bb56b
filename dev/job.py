"""One task under load: its configuration, its writer, and observations at source and sink.

Used by the failover tests and by the soak.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

from dev.checker import consumer
from dev.checker.history import Journal, Role, Seen
from dev.checker.roles import read_roles
from dev.checker.verdict import Verdict, compare, judge, rebuilt
from dev.checker.watch import Watch
from dev.checker.writer import Writer
from dev.cluster import wait_for
from dev.errors import ServerFailed
from dev.servers import Kafka, MariaDB, MySQL
from replicator.coordination.overview import Overview, TaskOverview
from replicator.errors import NotConnected


class Job:
    """Args:
    name: of the task and of its database; its topics begin with it.
    overview: where the task's state is read.
    sink, source, settings: keys that replace those of the Kafka sink, the source, the task.
    role_folder: of the role logs of the Cores that may run it.
    rate, most_rows, seed, journal: of the writer.
    """

    def __init__(
        self,
        name: str,
        database: MySQL | MariaDB,
        kafka: Kafka,
        overview: Overview,
        *,
        sink: dict[str, Any] | None = None,
        source: dict[str, Any] | None = None,
        settings: dict[str, Any] | None = None,
        role_folder: Path | None = None,
        rate: float = 80,
        seed: int = 1,
        most_rows: int = 6,
        journal: Journal | None = None,
    ) -> None:
        self.name = name
        self.database, self.kafka = database, kafka
        os.environ["REPL_PASSWORD"] = database.replicator[1]
        self.writer = Writer(database, database=name, rate=rate, seed=seed, most_rows=most_rows, journal=journal)
        self.overview = overview
        self._role_folder = role_folder
        self._sink, self._source, self._settings = sink or {}, source or {}, settings or {}
        self.topics = f"{name}.topic."

    @property
    def task(self) -> dict[str, Any]:
        user, _ = self.database.replicator
        return {
            "name": self.name,
            "source": {
                "type": "mysql" if isinstance(self.database, MySQL) else "mariadb",
                **(
                    {}
                    if {"hosts", "address"} & self._source.keys()
                    else {"host": self.database.host, "port": self.database.port}
                ),
                "user": user,
                "password": "env:REPL_PASSWORD",
                "tables": [f"{self.name}.*"],
                "heartbeat_s": 1,
                **self._source,
            },
            "sink": {
                "type": "kafka",
                **({} if "address" in self._sink else {"bootstrap_servers": self.kafka.address.split(",")}),
                "topic": self.topics + "{table}",
                "partitions": 3,
                "delivery": "exactly_once",
                **self._sink,
            },
            "checkpoint_interval_ms": 300,
            **self._settings,
        }

    def look(self) -> TaskOverview:
        return self.overview.task(self.name)

    def wait_running(self, *, other_than: str = "", timeout: float = 40.0) -> TaskOverview:
        """Until a host that is not `other_than` leads and its stream is open."""

        def running() -> TaskOverview | None:
            with contextlib.suppress(NotConnected):  # ZooKeeper is away for a while
                found = self.look()
                return found if found.state == "running" and found.host != other_than else None
            return None

        def missing() -> str:
            with contextlib.suppress(NotConnected):
                found = self.look()
                seen = f"{found.state} on '{found.host}', {found.problems}, {found.instances}"
                return f"{self.name} running, not on '{other_than}'; it is {seen}{self.logs()}"
            return f"{self.name} running, not on '{other_than}'; ZooKeeper is not reached{self.logs()}"

        found: TaskOverview = wait_for(running, missing, timeout)
        return found

    def wait_standby(self, host: str, timeout: float = 40.0) -> None:
        wait_for(lambda: any(i.host == host for i in self.look().standbys), f"{host} standing by", timeout)

    def wait_delivered(self, more: int, timeout: float = 40.0) -> None:
        """Until `more` records than now are visible to a read_committed consumer."""
        came: list[Any] = []
        with Watch(self.kafka.address, f"{self.topics}hot_item", came.extend, from_now=True):
            wait_for(lambda: sum(1 for r in came if r.value is not None) >= more, f"{more} more records", timeout)

    def seen(self) -> list[Seen]:
        return consumer.seen(self.records())

    def records(self, table: str = "hot_item") -> list[Any]:
        """What a consumer of a table's topic sees; by default of the writer's."""
        return consumer.read_topics(self.kafka.address, lambda topic: topic == self.topics + table)

    def verdict(self, timeout: float = 40.0, checkpoints: list[tuple[str, int]] | None = None) -> Verdict:
        """Stops the writer, waits for the rest to arrive, and judges: history, and the table rebuilt from the topic."""
        journal = self.writer.stop()
        wanted = {(c.key, c.counter) for t in journal if t.outcome == "committed" for c in t.changes}

        def arrived() -> bool:
            return wanted <= {(record.key, record.counter) for record in self.seen()}

        with contextlib.suppress(ServerFailed):  # the verdict names what is missing
            wait_for(arrived, "everything to arrive", timeout, every=0.5)
        records = self.records()
        verdict = judge(journal, consumer.seen(records), roles=self.roles(), checkpoints=checkpoints or ())
        verdict.differing = compare(self.writer.rows(), rebuilt(consumer.latest_rows(records)))
        return verdict

    def roles(self) -> list[Role]:
        return read_roles(self._role_folder, self.name) if self._role_folder is not None else []

    def logs(self) -> str:
        """Shown when a wait was in vain."""
        return ""
