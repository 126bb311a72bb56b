"""Avro from a real MySQL with a real schema registry: tables that change, schemas that are refused, a registry that is
away for a while."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import httpx
import pytest

from dev import plain_http
from dev.servers import MySQL, Registry
from replicator.assembly import format_checks
from replicator.assembly.pipeline import build_pipeline, build_source
from replicator.checkpoint.memory_store import MemoryStore
from replicator.config.load import parse_task, to_data
from replicator.config.task import TaskConfig
from replicator.errors import ReplicatorError
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position
from replicator.model.quarantine import Quarantined, TaskOrders
from replicator.model.term import Term
from replicator.pipeline.delivery_progress import DeliveryCounters
from replicator.pipeline.pipeline import Pipeline
from replicator.sink.memory_sink import MemoryBroker, MemorySink
from tests.support.avro import Reader


class Watching:
    """An observer that remembers what was waited for."""

    def __init__(self) -> None:
        self.waits: list[ReplicatorError] = []
        self.waited = threading.Event()

    def streaming(self, position: Position) -> None: ...

    def waiting(self, error: ReplicatorError) -> None:
        self.waits.append(error)
        self.waited.set()

    def progress(self, checkpoint: Checkpoint, figures: DeliveryCounters) -> None: ...


class Task:
    """A task named as the database that it reads from now on, into the memory twin of Kafka."""

    def __init__(self, server: MySQL, database: str, registry: str, **registry_options: Any) -> None:
        file, offset = server.end_of_log()
        self.database = database
        self.broker = MemoryBroker(1)
        self.observer = Watching()
        self.store = MemoryStore()
        self.orders = TaskOrders()
        self.config: TaskConfig = parse_task(
            {
                "name": database,
                "source": {
                    "type": "mysql",
                    "port": server.port,
                    "user": "replicator",
                    "password": "env:PASSWORD",
                    "tables": [f"{database}.*"],
                    "start": {"file": file, "position": offset},
                },
                "sink": {
                    "type": "stdout",
                    "debezium": {
                        "converter": "avro",
                        "include_schema_changes": False,
                        "time_precision_mode": "connect",
                        "schema_registry": {"url": registry, "timeout_s": 2, **registry_options},
                    },
                },
            }
        )
        self.pipeline = self._pipeline(self.config)

    def _pipeline(self, config: TaskConfig) -> Pipeline:
        return build_pipeline(
            config,
            term=Term.unlimited(self.database),
            store=self.store,
            observer=self.observer,
            sink=MemorySink(self.database, self.broker),
            orders=self.orders,
        )

    def set(self, **source: Any) -> None:
        """Other keys of the source, from the next run on."""
        data = to_data(self.config)
        self.config = parse_task({**data, "source": {**data["source"], **source}})
        self.pipeline = self._pipeline(self.config)

    def replay(self, mark: Quarantined) -> None:
        """Orders it, as `replicator task replay` does."""
        self.orders = TaskOrders(replay={mark.table: mark.time_ms})
        self.pipeline = self._pipeline(self.config)

    def run(self) -> None:
        self.pipeline.run(build_source(self.config).end_position)

    def rows(self, reader: Reader) -> list[tuple[Any, Any]]:
        """(key, row after) of each record that is no tombstone."""
        return [
            (reader.read(record.key or b""), reader.read(record.value)["after"])
            for record in self.broker.records
            if record.value is not None
        ]


@pytest.fixture(autouse=True)
def password(mysql: MySQL, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PASSWORD", mysql.replicator[1])


def subjects(registry: Registry, task: str) -> set[str]:
    found = plain_http.get(f"{registry.url}/subjects").raise_for_status().json()
    return {each for each in found if each.startswith(f"{task}.")}


def versions(registry: Registry, subject: str) -> list[int]:
    return list(plain_http.get(f"{registry.url}/subjects/{subject}/versions").raise_for_status().json())


def backward(registry: Registry, subject: str) -> None:
    answer = httpx.put(f"{registry.url}/config/{subject}", json={"compatibility": "BACKWARD"})
    assert answer.is_success, answer.text


def test_a_version_for_every_definition(mysql: MySQL, database: str, registry: Registry) -> None:
    task = Task(mysql, database, registry.url)
    for statement in (
        f"CREATE TABLE {database}.t (id INT PRIMARY KEY, v VARCHAR(9), p DECIMAL(9,2), d DATE)",
        f"INSERT INTO {database}.t VALUES (1, 'a', 12.5, '2026-11-21'), (2, NULL, NULL, NULL)",
        f"ALTER TABLE {database}.t ADD COLUMN w INT",
        f"INSERT INTO {database}.t VALUES (3, 'c', 1, NULL, 7)",
        f"ALTER TABLE {database}.t DROP COLUMN v",
        f"UPDATE {database}.t SET w = 8 WHERE id = 3",
        f"CREATE TABLE {database}.silent (id INT PRIMARY KEY)",
    ):
        mysql.execute(statement)
    assert not subjects(registry, database)
    task.run()
    topic = f"{database}.{database}.t"
    rows = task.rows(Reader(registry.url, logical=True))
    assert [key for key, _ in rows] == [{"id": 1}, {"id": 2}, {"id": 3}, {"id": 3}]
    first, second, third, last = (row for _, row in rows)
    assert first["p"] == Decimal("12.50") and first["d"].isoformat() == "2026-11-21"
    assert second == {"id": 2, "v": None, "p": None, "d": None}
    assert third["w"] == 7 and third["v"] == "c"
    assert last["w"] == 8 and "v" not in last
    assert versions(registry, f"{topic}-value") == [1, 2, 3]
    assert versions(registry, f"{topic}-key") == [1]
    assert subjects(registry, database) == {f"{topic}-key", f"{topic}-value"}  # tables without rows have none


def test_a_schema_that_is_refused_stops_the_task_with_both_shown(
    mysql: MySQL, database: str, registry: Registry
) -> None:
    task = Task(mysql, database, registry.url)
    subject = f"{database}.{database}.t-value"
    mysql.execute(f"CREATE TABLE {database}.t (id INT PRIMARY KEY)")
    mysql.execute(f"INSERT INTO {database}.t VALUES (1)")
    task.run()
    backward(registry, subject)
    mysql.execute(f"ALTER TABLE {database}.t ADD COLUMN a INT")  # a new field with a default: a reader of today can
    mysql.execute(f"INSERT INTO {database}.t VALUES (2, 2)")
    mysql.execute(f"ALTER TABLE {database}.t ADD COLUMN b INT NOT NULL")
    mysql.execute(f"INSERT INTO {database}.t VALUES (3, 3, 3)")
    with pytest.raises(ReplicatorError) as stopped:
        task.run()
    error = stopped.value
    assert (error.code, error.transient) == ("E3302", False)
    assert subject in error.what and subject in error.fix
    had, wanted = (_fields(text) for text in (error.found, error.wanted))
    assert (had, wanted) == (["id", "a"], ["id", "a", "b"])
    assert versions(registry, subject) == [1, 2]
    assert len(task.broker.records) == 2  # what came before it is delivered
    httpx.put(f"{registry.url}/config/{subject}", json={"compatibility": "NONE"})
    task.run()
    assert [row["id"] for _, row in task.rows(Reader(registry.url))] == [1, 2, 3]


def test_a_schema_that_is_refused_puts_its_table_into_quarantine(
    mysql: MySQL, database: str, registry: Registry
) -> None:
    task = Task(mysql, database, registry.url)
    task.set(on_table_error="quarantine")
    ill, subject = f"{database}.ill", f"{database}.{database}.ill-value"
    for table in ("ill", "well"):
        mysql.execute(f"CREATE TABLE {database}.{table} (id INT PRIMARY KEY)")
        mysql.execute(f"INSERT INTO {database}.{table} VALUES (1)")
    task.run()
    backward(registry, subject)
    mysql.execute(f"ALTER TABLE {ill} ADD COLUMN b INT NOT NULL")
    mysql.execute(f"INSERT INTO {ill} VALUES (2, 2)")
    mysql.execute(f"INSERT INTO {database}.well VALUES (2)")
    mysql.execute(f"INSERT INTO {ill} VALUES (3, 3)")
    task.run()

    def ids(table: str) -> list[int]:
        found = [record for record in task.broker.records if record.topic.endswith(f".{table}")]
        return [reader.read(record.value)["after"]["id"] for record in found if record.value is not None]

    reader = Reader(registry.url)
    assert (ids("well"), ids("ill")) == ([1, 2], [1])
    (mark,) = marks(task.store)
    assert mark.error is not None and (mark.table, mark.error["code"]) == (ill, "E3302")
    assert subject in mark.error["what"] and subject in mark.error["fix"]
    mysql.execute(f"INSERT INTO {ill} VALUES (4, 4)")
    task.replay(mark)
    task.run()
    again = marks(task.store)[-1]
    assert (again.since, again.until) == (mark.since, None), "it is still refused"
    httpx.put(f"{registry.url}/config/{subject}", json={"compatibility": "NONE"}).raise_for_status()
    task.replay(again)
    task.run()
    assert (ids("well"), ids("ill")) == ([1, 2], [1, 2, 3, 4])
    assert marks(task.store)[-1].replayed
    assert versions(registry, subject) == [1, 2]


def marks(store: MemoryStore) -> tuple[Quarantined, ...]:
    last = store.load()
    assert last is not None
    return last.quarantined


def _fields(schema: str) -> list[str]:
    row = json.loads(schema)["fields"][0]["type"][1]
    return [field["name"] for field in row["fields"]]


def test_a_registry_that_is_away_is_waited_for(
    mysql: MySQL, database: str, make_registry: Callable[..., Registry]
) -> None:
    registry = make_registry()
    task = Task(mysql, database, registry.url)
    mysql.execute(f"CREATE TABLE {database}.t (id INT PRIMARY KEY)")
    mysql.execute(f"INSERT INTO {database}.t VALUES (1)")
    task.run()
    registry.stop()
    mysql.execute(f"INSERT INTO {database}.t VALUES (2)")
    task.run()  # the schema is known
    assert not task.observer.waits
    mysql.execute(f"ALTER TABLE {database}.t ADD COLUMN w INT")
    mysql.execute(f"INSERT INTO {database}.t VALUES (3, 3)")
    runner = threading.Thread(target=task.run)
    runner.start()
    try:
        assert task.observer.waited.wait(20)
        assert {error.code for error in task.observer.waits} == {"E3301"}
        assert len(task.broker.records) == 2
        registry.start()
        runner.join(60)
    finally:
        task.pipeline.drain()
        runner.join(20)
    assert [row["id"] for _, row in task.rows(Reader(registry.url))] == [1, 2, 3]


def test_schemas_are_not_registered_where_that_is_not_wanted(mysql: MySQL, database: str, registry: Registry) -> None:
    mysql.execute(f"CREATE TABLE {database}.t (id INT PRIMARY KEY)")
    task, allowed = (Task(mysql, database, registry.url, auto_register=each) for each in (False, True))
    mysql.execute(f"INSERT INTO {database}.t VALUES (1)")
    with pytest.raises(ReplicatorError) as stopped:
        task.run()
    assert (stopped.value.code, stopped.value.found) == ("E3305", "none")
    assert json.loads(stopped.value.wanted)["name"] == "Key"
    allowed.run()
    task.run()
    assert len(task.broker.records) == 1


def test_check_asks_the_registry(
    mysql: MySQL, database: str, registry: Registry, make_registry: Callable[..., Registry]
) -> None:
    def found(url: str) -> tuple[str, str]:
        task = Task(mysql, database, url)
        return next((each.severity, each.found) for each in format_checks.check(task.config) if "registry" in each.id)

    assert found(registry.url)[0] == "ok"
    severity, text = found(f"http://{registry.address}/elsewhere")
    assert (severity, text[:5]) == ("fail", "E3303")
    began = time.monotonic()
    severity, text = found("http://127.0.0.1:9")
    assert (severity, text[:5]) == ("fail", "E3301")
    assert time.monotonic() - began < 10
