"""Rows that are too large for Kafka: references to them, in the same transaction, on both paths to the broker."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient

from replicator import compiled
from replicator.config.task import KafkaSink
from replicator.errors import SinkError, SinkUnavailable
from replicator.model.term import Term
from replicator.pipeline.ports import Sink
from replicator.sink import open_sink
from tests.conformance.sinks import at, batch
from tests.support.consume import read_all
from tests.support.streamed import REFERENCE, streamed

pytestmark = pytest.mark.servers
DELIVERIES = ["exactly_once", "at_least_once"]


@pytest.fixture
def make(kafka: Any, task: str) -> Iterator[Callable[..., Any]]:
    made: list[Sink] = []

    def one(delivery: str = "exactly_once", *, batches: bool = True, **options: Any) -> Any:
        settings = {"oversize": "dead_letter", "max_record_bytes": 5000, "partitions": 2, **options}
        config = KafkaSink(type="kafka", bootstrap_servers=(kafka.bootstrap,), delivery=delivery, **settings)
        sink: Any = open_sink(config, task)
        sink._batches = batches
        made.append(sink)
        return sink

    yield one
    for sink in made:
        sink.close()


def term(task: str, epoch: int = 1) -> Term:
    return Term(task, "u1", epoch, lambda: float("inf"))


@pytest.mark.parametrize("batches", [True, False])
@pytest.mark.parametrize("delivery", DELIVERIES)
def test_the_rest_flows_and_the_letter_goes_where_it_should(
    kafka: Any, task: str, make: Callable[..., Any], delivery: str, batches: bool
) -> None:
    sink, topic = make(delivery, batches=batches), task + ".orders"
    sink.open(term(task))
    given = batch(100, (topic, b"a", b"1"), (topic, b"b", b"x" * 9000), (topic, b"c", b"3"))
    sink.write(given)
    sink.commit(given.position)
    sink.flush(20)
    assert sink.dead_letters == 1
    assert {record.key for record in read_all(kafka.bootstrap, topic)} == {b"a", b"c"}
    (letter,) = read_all(kafka.bootstrap, task + ".dead_letter")
    assert letter.key == b"b"
    assert (letter.header("position"), letter.header("row"), letter.header("task")) == ("binlog.000001:100", "1", task)
    said = json.loads(letter.value or b"")
    assert said["sha256"] == hashlib.sha256(b"x" * 9000).hexdigest()
    assert said["claim_check"] == {"task": task, "position": "binlog.000001:100", "row": 1}


def test_a_letter_of_a_transaction_that_was_not_committed_is_not_seen(
    kafka: Any, task: str, make: Callable[..., Any]
) -> None:
    sink, topic = make(), task + ".orders"
    sink.open(term(task))
    sink.write(batch(100, (topic, b"b", b"x" * 9000)))
    sink.close()
    assert sink.open(term(task, 2)) is None
    assert read_all(kafka.bootstrap, task + ".dead_letter") == []


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_a_limit_that_was_lowered_meanwhile(kafka: Any, task: str, make: Callable[..., Any], delivery: str) -> None:
    """We learn of it by the refusal; the next session sends the letter."""
    sink, topic = make(delivery, max_record_bytes=500_000, partitions=1), task + ".orders"
    sink.open(term(task))
    sink.write(batch(100, (topic, b"a", b"1")))
    sink.commit(at(100))
    sink.flush(20)
    admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap)
    setting = {"max.message.bytes": ("SET", "3000")}
    admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, setting)])
    admin.close()
    large = batch(200, (topic, b"b", b"x" * 9000), (topic, b"c", b"3"))
    for _ in range(6):
        try:
            sink.write(large)
            sink.commit(at(200))
            sink.flush(20)
            break
        except SinkUnavailable:
            sink.open(term(task))
    (letter,) = read_all(kafka.bootstrap, task + ".dead_letter")
    assert letter.key == b"b"
    assert [record.key for record in read_all(kafka.bootstrap, topic)] == [b"a", b"c"]


def test_a_dead_letter_topic_that_refuses_stops(kafka: Any, task: str, make: Callable[..., Any]) -> None:
    admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap)
    admin.create_topics(
        {task + ".dead_letter": {"num_partitions": 1, "replication_factor": 1, "configs": {"max.message.bytes": "200"}}}
    )
    admin.close()
    sink = make()
    sink.open(term(task))
    with pytest.raises(SinkError) as raised:
        sink.write(batch(100, (task + ".orders", b"b", b"x" * 9000)))
        sink.commit(at(100))
    assert raised.value.code == "E3102"


@pytest.mark.parametrize("path", ["compiled", "python"])
def test_from_the_source_to_the_letter(mysql: Any, database: str, kafka: Any, task: str, path: str) -> None:
    if path == "compiled" and not compiled.available():
        pytest.skip("nothing is compiled here")
    file, offset = mysql.end_of_log()
    mysql.execute(f"CREATE TABLE {database}.t (id INT PRIMARY KEY, b LONGTEXT)")
    mysql.execute(f"INSERT INTO {database}.t VALUES (1, 'a'), (2, REPEAT('x', 300000)), (3, 'c')")
    mysql.execute(f"UPDATE {database}.t SET b = 'small' WHERE id = 2")
    source = {"type": "mysql", "port": mysql.port, "user": "replicator", "password": REFERENCE}
    config = {
        "name": task,
        "source": {**source, "tables": [f"{database}.*"], "start": {"file": file, "position": offset}},
        "sink": {
            "type": "kafka",
            "bootstrap_servers": [kafka.bootstrap],
            "max_record_bytes": 100_000,
            "oversize": "dead_letter",
        },
    }
    done = streamed(config, compiled=path == "compiled")
    assert (done.rows, done.dead_letters) == (4, 2)  # the insert, and the update with its row as it was
    letters = [json.loads(record.value or b"") for record in read_all(kafka.bootstrap, task + ".dead_letter")]
    assert [letter["row"] for letter in letters] == [1, 0]
    records = read_all(kafka.bootstrap, f"{task}.{database}.t")
    assert [json.loads(r.value or b"")["after"]["id"] for r in records] == [1, 3]
