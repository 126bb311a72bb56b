"""Transactions that a broker has left without an end: the next term ends them as they were decided, once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType

from dev.servers import Kafka
from replicator.errors import SinkUnavailable
from replicator.pipeline.ports import Sink
from replicator.sink.kafka import position
from replicator.sink.kafka.names import position_topic, transactional_id
from tests.conformance.sinks import at, batch
from tests.support.consume import read_all
from tests.support.numbered import term

pytestmark = pytest.mark.servers

Make = Callable[..., Any]


@pytest.fixture
def trusting(kafka: Kafka) -> Iterator[None]:
    """The broker takes records of transactions that their coordinator knows nothing of."""
    admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap)

    def verify(value: str) -> None:
        admin.alter_configs(
            [ConfigResource(ConfigResourceType.BROKER, "1", {"transaction.partition.verification.enable": value})]
        )

    verify("false")
    yield
    verify("true")
    admin.close()


class Earlier:
    """The producer of a term before: what it leaves is without an end."""

    def __init__(self, bootstrap: str, task: str, *, commits: bool) -> None:
        self._task = task
        self._producer: Any = KafkaProducer(bootstrap_servers=bootstrap, transactional_id=transactional_id(task))
        self._producer.init_transactions()
        self._producer.begin_transaction()
        self._send(position_topic(task), key=b"another", value=b"")
        self._producer.flush(20)
        if commits:
            self._producer.commit_transaction()
        else:
            self._producer.abort_transaction()
        self._producer.begin_transaction()

    def leave(self, topic: str, value: bytes, **options: Any) -> None:
        """A record whose partition the coordinator is not told of."""
        self._producer._transaction_manager._partitions_in_transaction.add(TopicPartition(topic, 0))
        self._send(topic, value=value, **options)
        self._producer.flush(20)

    def leave_position(self, number: int) -> None:
        record = position.dump(term(self._task, 1), at(number))
        self.leave(position_topic(self._task), record, key=self._task.encode())

    def _send(self, topic: str, **options: Any) -> None:
        self._producer.send(topic, partition=0, **options)

    def die(self) -> None:
        self._producer._sender.force_close()
        self._producer._sender.join(10)
        self._producer._closed = True


def rows(kafka: Kafka, topic: str) -> list[int]:
    return sorted(int(record.value or b"") for record in read_all(kafka.bootstrap, topic))


def deliver(sink: Sink, topic: str, number: int) -> None:
    sink.write(batch(number, (topic, b"k", b"%d" % number)))
    sink.commit(at(number))


@pytest.fixture
def delivered(make: Make, kafka: Kafka, task: str) -> str:
    """A task that has delivered rows 0 and 1 of a topic, which is named."""
    sink, topic = make(kafka.bootstrap, task), task + ".orders"
    sink.open(term(task))
    for number in range(2):
        deliver(sink, topic, number)
    sink.close()
    return topic


@pytest.mark.parametrize(("commits", "resume"), [(True, 3), (False, 2)])
def test_ended_as_it_was_decided(
    make: Make, kafka: Kafka, task: str, delivered: str, trusting: None, commits: bool, resume: int
) -> None:
    earlier = Earlier(kafka.bootstrap, task, commits=commits)
    earlier.leave(delivered, b"2")
    earlier.leave_position(2)
    earlier.die()
    assert rows(kafka, delivered) == [0, 1]
    sink = make(kafka.bootstrap, task)
    held = sink.open(term(task, 2))
    assert held.offset + 1 == resume
    assert rows(kafka, delivered) == list(range(resume)), "before anything is written"
    for number in range(resume, 5):
        deliver(sink, delivered, number)
    assert rows(kafka, delivered) == list(range(5))


@pytest.mark.parametrize("commits", [True, False])
def test_rows_whose_position_has_an_end(
    make: Make, kafka: Kafka, task: str, delivered: str, trusting: None, commits: bool
) -> None:
    """Some of the markers were written, others not."""
    earlier = Earlier(kafka.bootstrap, task, commits=commits)
    earlier.leave(delivered, b"2")
    earlier.die()
    sink = make(kafka.bootstrap, task)
    assert sink.open(term(task, 2)) == at(1)
    assert rows(kafka, delivered) == ([0, 1, 2] if commits else [0, 1])
    deliver(sink, delivered, 3)
    assert rows(kafka, delivered) == ([0, 1, 2, 3] if commits else [0, 1, 3])


def begun_elsewhere(kafka: Kafka, topic: str) -> Any:
    """The producer of another application, in the middle of a transaction."""
    other = KafkaProducer(bootstrap_servers=kafka.bootstrap, transactional_id=topic + "-other")
    other.init_transactions()
    other.begin_transaction()
    other.send(topic, value=b"77", partition=0).get(20)
    return other


def end(other: Any) -> None:
    other.abort_transaction()
    other.close(timeout=5)


def test_another_application_in_the_same_topic(make: Make, kafka: Kafka, task: str, delivered: str) -> None:
    other = begun_elsewhere(kafka, delivered)
    sink = make(kafka.bootstrap, task)
    assert sink.open(term(task, 2)) == at(1)
    deliver(sink, delivered, 2)
    end(other)
    assert rows(kafka, delivered) == [0, 1, 2]


def drop_coordinator(sink: Any) -> None:
    """Ends the connection over which the sink's transactions go."""
    producer = sink._session.producer._producer
    with producer._lock:
        link = producer._links.peers[producer._machine.transactions.coordinator]
        link.close()
        producer._links.advance_all(time.monotonic())
    assert producer.coordinator_lost()


def test_a_lost_connection_between_transactions_is_nothing(make: Make, kafka: Kafka, task: str, delivered: str) -> None:
    sink = make(kafka.bootstrap, task)
    sink.open(term(task, 2))
    for number in range(2, 5):
        deliver(sink, delivered, number)
        drop_coordinator(sink)
    deliver(sink, delivered, 5)
    assert rows(kafka, delivered) == list(range(6))


def test_record_by_record_looks_for_hanging_transactions_each_time(
    make: Make, kafka: Kafka, task: str, delivered: str
) -> None:
    sink = make(kafka.bootstrap, task)
    sink._batches = False
    sink.open(term(task, 2))
    for number in range(2, 5):
        deliver(sink, delivered, number)
    assert rows(kafka, delivered) == list(range(5))


def test_a_transaction_goes_on_over_another_connection(make: Make, kafka: Kafka, task: str, delivered: str) -> None:
    sink = make(kafka.bootstrap, task)
    sink.open(term(task, 2))
    for number in range(2, 5):
        sink.write(batch(number, (delivered, b"k", b"%d" % number)))
        sink._session.window.drain(20)
        drop_coordinator(sink)
        sink.commit(at(number))
    assert rows(kafka, delivered) == list(range(5))


def test_none_begins_over_another_connection(make: Make, kafka: Kafka, task: str, delivered: str) -> None:
    """Lost at a moment when the last one may not have its end yet."""
    sink = make(kafka.bootstrap, task)
    sink.open(term(task, 2))
    drop_coordinator(sink)
    sink._session.producer._producer.coordinator_lost = lambda: False
    with pytest.raises(SinkUnavailable) as raised:
        sink.write(batch(2, (delivered, b"k", b"2")))
        sink.commit(at(2))
    assert raised.value.found == "KafkaError: the transaction coordinator was not available"
    assert sink.open(term(task, 2)) == at(1)
    deliver(sink, delivered, 2)
    assert rows(kafka, delivered) == [0, 1, 2]


def test_none_follows_one_without_an_end(
    make: Make, kafka: Kafka, task: str, delivered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a broker leaves it that was away while the sink was idle."""
    monkeypatch.setattr("replicator.sink.kafka.hanging_transactions._REFUSE_SECONDS", 0.2)
    sink = make(kafka.bootstrap, task)
    sink.open(term(task, 2))
    deliver(sink, delivered, 2)
    other = begun_elsewhere(kafka, delivered)
    drop_coordinator(sink)
    with pytest.raises(SinkUnavailable) as raised:
        sink.write(batch(3, (delivered, b"k", b"3")))
    assert "is hanging" in str(raised.value) and delivered in str(raised.value)
    assert sink.open(term(task, 2)) == at(2)
    deliver(sink, delivered, 3)
    end(other)
    assert rows(kafka, delivered) == [0, 1, 2, 3]
