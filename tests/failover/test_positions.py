"""The position against everything else that changes: the configuration, the delivery, Kafka, lastCommit."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from kafka import KafkaProducer

from dev.checker import consumer
from dev.cluster import wait_for
from replicator.sink.kafka.names import position_topics
from tests.failover.bus import Bus

pytestmark = pytest.mark.timeout(240)
MakeBus = Callable[..., Bus]
ROWS = 60_000


def clean(bus: Bus) -> None:
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)


def change(bus: Bus, *, source: dict[str, Any] | None = None, sink: dict[str, Any] | None = None) -> None:
    task = bus.task
    bus.cluster.apply(
        {**task, "source": {**task["source"], **(source or {})}, "sink": {**task["sink"], **(sink or {})}}
    )


def one_transaction(bus: Bus) -> None:
    """Rows of big_a, then twice as many of big_b."""
    connection: Any = bus.database.connect(database=bus.name)
    with connection, connection.cursor() as cursor:
        cursor.execute("SET SESSION cte_max_recursion_depth = 1000000")
        for table in ("big_a", "big_b"):
            cursor.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, filler VARCHAR(200))")
        cursor.execute("BEGIN")
        for table, rows in (("big_a", ROWS), ("big_b", 2 * ROWS)):
            numbers = f"WITH RECURSIVE n AS (SELECT 1 AS id UNION ALL SELECT id + 1 FROM n WHERE id < {rows})"
            cursor.execute(f"INSERT INTO {table} {numbers} SELECT id, REPEAT('x', 200) FROM n")
        cursor.execute("COMMIT")


@pytest.mark.parametrize("delivery", ["exactly_once", "at_least_once"])
def test_63_a_table_is_taken_away_inside_a_transaction(make_bus: MakeBus, delivery: str) -> None:
    bus = make_bus(sink={"delivery": delivery}, settings={"max_transaction_bytes": 1 << 20})
    bus.cluster.cli("task", "get")  # the Server is up
    one_transaction(bus)

    def inside() -> bool:
        commit = bus.look().last_commit
        return commit is not None and commit.checkpoint is not None and commit.checkpoint.position.rows > 0

    wait_for(inside, lambda: f"a position inside the transaction{bus.logs()}", 40, every=0.01)
    change(bus, source={"tables": [f"{bus.name}.*", f"!{bus.name}.big_a"]})
    bus.wait_delivered(50, timeout=90)
    ids = [json.loads(record.value)["after"]["id"] for record in bus.records("big_b")]
    seen = Counter(ids)
    assert set(seen) == set(range(1, 2 * ROWS + 1)), "none is lost"
    if delivery == "exactly_once":
        assert set(seen.values()) == {1}, "none comes twice"
    clean(bus)


def test_64_the_delivery_changes_there_and_back(make_bus: MakeBus) -> None:
    """The position topic is as old as the first change; lastCommit is not."""
    bus = make_bus()
    change(bus, sink={"delivery": "at_least_once"})
    bus.wait_delivered(200)
    change(bus)
    bus.wait_delivered(80)
    bus.cluster.cores[bus.look().host].kill()
    bus.wait_delivered(80)
    clean(bus)


def test_65_a_kafka_that_was_put_back_is_not_gone_on_with(make_bus: MakeBus) -> None:
    """The operator says where: here nothing but the position itself was put back, so at lastCommit."""
    bus = make_bus()
    first = consumer.read_topics(bus.kafka.address, lambda name: bool(position_topics(bus.name, [name])))[0]
    bus.wait_delivered(80)
    bus.cluster.cli("task", "pause", bus.name)
    wait_for(lambda: bus.look().state == "paused", "the pause", 40)
    producer = KafkaProducer(bootstrap_servers=bus.kafka.address.split(","))
    producer.send(first.topic, value=first.value, key=first.key).get(timeout=20)
    producer.close()
    bus.cluster.cli("task", "resume", bus.name)
    error = bus.failed()
    assert error["code"] == "E3114" and "task position set" in error["fix"]
    bus.cluster.cli("task", "position", "set", bus.name, "--transaction-start", "-y")
    bus.cluster.cli("task", "retry", bus.name)
    bus.wait_delivered(80)
    clean(bus)


def test_15_a_last_commit_lost_while_nobody_ran_is_not_replaced_by_now(make_bus: MakeBus) -> None:
    bus = make_bus(sink={"delivery": "at_least_once"})
    for core in bus.cluster.cores.values():
        core.kill()
    commit = bus.look().last_commit
    assert commit is not None and commit.checkpoint is not None
    bus.coordinator.delete(bus.layout.last_commit(bus.name))
    time.sleep(0.5)  # written while nobody reads
    bus.cluster.core("host-c")
    assert bus.failed(60)["code"] == "E4004"
    bus.cluster.cli("task", "position", "set", bus.name, "--gtid", commit.checkpoint.position.gtid, "-y")
    bus.cluster.cli("task", "retry", bus.name)
    bus.wait_delivered(80)
    verdict = bus.verdict()
    verdict.duplicated.clear()
    assert verdict.clean, str(verdict)
