"""Operators' actions on a running bus during a soak: configurations, tables, tasks."""

from __future__ import annotations

import itertools
import json
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

from dev.cluster import Cluster, wait_for
from dev.errors import ServerFailed
from dev.job import Job
from dev.servers.database import Database
from replicator.coordination.layout import Layout
from replicator.coordination.leadership.state import State
from replicator.coordination.ports import Coordinator

LARGE_TRANSACTIONS, LARGE_ROWS = 6, 20_000
"""Written while a configuration changes, so that the change finds the task inside a transaction."""

OPERATOR = "0b5e7a70-0000-4000-8000-000000000001"
"""The UUID of transactions that the task can't read, so that their GTIDs are known beforehand."""

Variant = Callable[[dict[str, Any]], None]


def _one_table(task: dict[str, Any]) -> None:
    task["source"]["tables"] = [f"{task['name']}.hot_item"]


def _transaction_records(task: dict[str, Any]) -> None:
    task["sink"]["debezium"] = {"provide_transaction_metadata": True}


def _no_deletes_beside(task: dict[str, Any]) -> None:
    task["transforms"] = {"operations": [{"tables": ["*.side"], "skip": ["delete"]}]}


def _half_beside(task: dict[str, Any]) -> None:
    task["transforms"] = {"filter": [{"tables": ["*.side"], "where": "id > 1000"}]}


def _in_parts(task: dict[str, Any]) -> None:
    task["max_transaction_bytes"] = 1 << 18
    task["source"]["tables"] = [f"{task['name']}.hot_item"]


def _in_parts_with_all(task: dict[str, Any]) -> None:
    task["max_transaction_bytes"] = 1 << 18


def _as_it_was(task: dict[str, Any]) -> None:
    """No difference to the task's first configuration."""


VARIANTS: tuple[Variant, ...] = (
    _one_table,
    _as_it_was,
    _transaction_records,
    _in_parts_with_all,
    _in_parts,
    _no_deletes_beside,
    _half_beside,
)
"""Each changes how many records a transaction has; none changes those of `hot_item`."""


class Administrator:
    """Args:
    jobs: the one named `at_least_once` has its delivery switched.
    """

    def __init__(self, cluster: Cluster, jobs: list[Job], database: Database, coordinator: Coordinator) -> None:
        self._cluster, self._database, self._coordinator = cluster, database, coordinator
        self._switching = next((job for job in jobs if job.name == "at_least_once"), jobs[-1])
        self._variants: dict[str, Iterator[Variant]] = {job.name: itertools.cycle(VARIANTS) for job in jobs}
        self._current: dict[str, Variant] = {job.name: _as_it_was for job in jobs}
        self._started: dict[str, str] = {}
        self._delivery = "at_least_once"
        self._skipped = 0
        self._random = random.Random(1)
        self._layout = Layout(cluster.root)

    # Configurations

    def reconfigure(self, job: Job) -> None:
        """Applies the next configuration while large transactions are being written and read."""
        self._current[job.name] = next(self._variants[job.name])
        job.writer.burst(LARGE_TRANSACTIONS, LARGE_ROWS)
        time.sleep(self._random.uniform(0, 1))
        self._apply(job)

    def switch_delivery(self, job: Job) -> None:
        """at_least_once becomes exactly_once and back again, whichever task the fault is aimed at: what it sends again
        meanwhile is forgiven to that task alone."""
        for delivery in ("exactly_once", "at_least_once"):
            self._delivery = delivery
            self._switching.writer.burst(2, LARGE_ROWS)
            self._apply(self._switching)
            self._switching.wait_running()
            self._switching.wait_delivered(20)

    def _apply(self, job: Job) -> None:
        self._cluster.apply(self._configuration(job))

    def _configuration(self, job: Job) -> dict[str, Any]:
        task = job.task
        if job is self._switching:
            task["sink"]["delivery"] = self._delivery
        if job.name in self._started:
            task["source"]["start"] = {"gtid": self._started[job.name]}
        self._current[job.name](task)
        return task

    # Tasks

    def recreate(self, job: Job) -> None:
        """Deletes a task and makes it again at the position at which it was paused."""
        self._cluster.cli("task", "pause", job.name)
        self._cluster.cli("task", "wait", job.name, "--for", "paused")
        position = json.loads(self._cluster.cli("task", "position", "get", job.name, "-o", "json"))
        self._started[job.name] = position["gtid"]
        self._cluster.cli("task", "delete", job.name, "-y")
        self._apply(job)

    def flicker(self, job: Job) -> None:
        """Makes a task and deletes it at once, again and again. Nothing of it may be left."""
        name = f"{job.name}_flicker"
        for wait in (0.0, 0.3, 1.0):
            self._cluster.apply({**job.task, "name": name, "sink": {**job.task["sink"], "topic": "{task}.{table}"}})
            time.sleep(self._random.uniform(0, wait))
            self._cluster.cli("task", "delete", name, "-y")
            wait_for(lambda: not self._coordinator.exists(self._layout.task(name)), f"{name} gone", 30)

    def skip(self, job: Job) -> None:
        """A statement that can't be replicated stops the task; that transaction alone may be skipped."""
        self._skipped += 1
        transaction = f"{OPERATOR}:{self._skipped}"
        self._run(
            "SET SESSION binlog_format = 'STATEMENT'",
            f"SET gtid_next = '{transaction}'",
            f"UPDATE {job.name}.hot_item SET note = note WHERE id = -1",
        )
        wait_for(lambda: job.look().state == State.FAILED.value, f"{job.name} failed", 60)
        try:
            self._skip(job, f"{OPERATOR}:{self._skipped + 1000}")
        except ServerFailed:
            self._skip(job, transaction)
        else:
            raise ServerFailed(job.name, "skipped a transaction that is not the one of the error")

    def _skip(self, job: Job, transaction: str) -> None:
        self._cluster.cli("task", "skip", job.name, "--transaction", transaction, "-y")

    # Tables

    def swap_table(self, job: Job) -> None:
        """A copy takes the place of the table, under a lock, by one RENAME."""
        hot, new, old = (f"{job.name}.{table}" for table in ("hot_item", "hot_new", "hot_old"))
        self._run(
            f"CREATE TABLE {new} LIKE {hot}",
            f"LOCK TABLES {hot} WRITE, {new} WRITE",
            f"INSERT INTO {new} SELECT * FROM {hot}",
            f"RENAME TABLE {hot} TO {old}, {new} TO {hot}",
            "UNLOCK TABLES",
            f"DROP TABLE {old}",
        )

    def alter_table(self, job: Job) -> None:
        """Columns come, change their names and go."""
        hot = f"{job.name}.hot_item"
        for change in (
            "ADD COLUMN extra INT NULL AFTER sku",
            "RENAME COLUMN extra TO other",
            "MODIFY COLUMN other BIGINT UNSIGNED NULL",
            "DROP COLUMN other",
        ):
            self._run(f"ALTER TABLE {hot} {change}")
            time.sleep(self._random.uniform(0, 0.5))

    def _run(self, *statements: str) -> None:
        with self._database.connect(autocommit=True, read_timeout=60) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
